/*
 * TOML -> JSON. The only C++ in the library: no C library for TOML is packaged. toml++ is used as a header,
 * with exceptions; none leaves this file, and no symbol of C++ is exported.
 */
#include <cmath>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

/* toml++ asserts, and without assertions assumes, that a key begins with a letter; "[!" would be an abort or worse. With
 * neither, it goes on to the error that it has for this. */
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_MAX_NESTED_VALUES 32
#define TOML_ENABLE_FORMATTERS 0 /* we only read; and they alone would need libm */
#include <toml++/toml.h>

/* C lets a function share its name with a struct, which C++ calls a shadow. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include "base/error.h"
#include "manifest/manifest.h"
}
#pragma GCC diagnostic pop

namespace
{

constexpr unsigned max_depth = 32; /* mor_writer keeps 64 levels; people need about 5 */
constexpr unsigned max_dots = 256; /* see check_dots() */

struct buffer : mor_buf {
	// cppcheck-suppress uninitDerivedMemberVar ; mor_buf{} sets every member to zero
	buffer() : mor_buf{} {}
	buffer(const buffer &) = delete;
	buffer &operator=(const buffer &) = delete;
	~buffer() { mor_buf_fini(this); }
};

/* What cannot be turned into JSON, and where it stands. */
struct refused : std::runtime_error {
	toml::source_position at;
	refused(const char *what, toml::source_position where) : std::runtime_error(what), at(where) {}
};

class converter
{
      public:
	converter(mor_buf *json, mor_buf *lines) : json_{}, lines_{}
	{
		json_.out = json;
		lines_.out = lines;
	}

	void run(const toml::table &root)
	{
		mor_w_object(&lines_);
		table(root, "", 1);
		mor_w_end(&lines_);
	}

      private:
	mor_writer json_, lines_;

	static mor_slice slice(std::string_view text) { return mor_slice{ text.data(), text.size() }; }

	void table(const toml::table &table, const std::string &path, unsigned depth)
	{
		if (depth > max_depth)
			throw refused("nested deeper than 32 levels", table.source().begin);
		mor_w_object(&json_);
		for (const auto &[key, node] : table) {
			std::string name = path.empty() ? std::string(key.str()) : path + "." + std::string(key.str());

			mor_w_key_slice(&json_, slice(key.str()));
			mor_w_key_slice(&lines_, slice(name));
			place(key.source().begin);
			value(node, name, depth + 1);
		}
		mor_w_end(&json_);
	}

	void place(toml::source_position at)
	{
		mor_w_array(&lines_);
		mor_w_uint(&lines_, at.line);
		mor_w_uint(&lines_, at.column);
		mor_w_end(&lines_);
	}

	void array(const toml::array &array, const std::string &path, unsigned depth)
	{
		if (depth > max_depth)
			throw refused("nested deeper than 32 levels", array.source().begin);
		mor_w_array(&json_);
		for (size_t i = 0; i < array.size(); i++)
			value(array[i], path + "." + std::to_string(i), depth + 1);
		mor_w_end(&json_);
	}

	void value(const toml::node &node, const std::string &path, unsigned depth)
	{
		switch (node.type()) {
		case toml::node_type::table:
			return table(*node.as_table(), path, depth);
		case toml::node_type::array:
			return array(*node.as_array(), path, depth);
		case toml::node_type::string:
			return mor_w_slice(&json_, slice(node.as_string()->get()));
		case toml::node_type::integer:
			return mor_w_int(&json_, node.as_integer()->get());
		case toml::node_type::boolean:
			return mor_w_bool(&json_, node.as_boolean()->get());
		case toml::node_type::floating_point:
			if (!std::isfinite(node.as_floating_point()->get()))
				throw refused("nan and inf have no meaning here", node.source().begin);
			return mor_w_double(&json_, node.as_floating_point()->get());
		default:
			return moment(node);
		}
	}

	/* Dates and times become their text. */
	void moment(const toml::node &node)
	{
		std::ostringstream text;

		if (node.is_date())
			text << node.as_date()->get();
		else if (node.is_time())
			text << node.as_time()->get();
		else if (node.is_date_time())
			text << node.as_date_time()->get();
		mor_w_slice(&json_, slice(text.str()));
	}
};

int fail_at(mortise_error *err, const char *file, toml::source_position at, std::string_view what)
{
	return mor_fail(err, MORTISE_EMANIFEST, "%s:%u:%u: %.*s", file, static_cast<unsigned>(at.line),
			static_cast<unsigned>(at.column), static_cast<int>(what.size()), what.data());
}

/* toml++ bounds the nesting of values but not the parts of a key, and destroys nested tables recursively: a
 * megabyte of "a.a.a.a" would be the end of the stack. A key is always on one line. */
void check_dots(std::string_view text)
{
	toml::source_position at{ 1, 1 };
	unsigned dots = 0;

	for (char c : text) {
		if (c == '\n') {
			at.line++;
			dots = 0;
		} else if (c == '.' && ++dots > max_dots) {
			throw refused("more than 256 dots on one line: split it", at);
		}
	}
}

int convert(const char *file, std::string_view text, mor_buf *ret_json, mor_buf *ret_lines, mortise_error *err)
{
	buffer json, lines;

	check_dots(text);
	toml::table root = toml::parse(text, std::string_view(file));
	converter(&json, &lines).run(root);
	if (json.status || lines.status)
		return mor_fail(err, json.status ? json.status : lines.status, "%s: out of memory", file);
	int r = mor_buf_append(ret_json, json.data, json.len);
	if (r == 0 && ret_lines)
		r = mor_buf_append(ret_lines, lines.data, lines.len);
	return r == 0 ? 0 : mor_fail(err, r, "%s: out of memory", file);
}

} // namespace

extern "C" int mor_toml_to_json(const char *file, const char *text, size_t len, struct mor_buf *ret_json,
				struct mor_buf *ret_lines, mortise_error *err)
{
	try {
		return convert(file, std::string_view(text, len), ret_json, ret_lines, err);
	} catch (const toml::parse_error &fault) {
		return fail_at(err, file, fault.source().begin, fault.description());
	} catch (const refused &fault) {
		return fail_at(err, file, fault.at, fault.what());
	} catch (const std::bad_alloc &) {
		return mor_fail(err, MORTISE_ENOMEM, "%s: out of memory", file);
	} catch (const std::exception &fault) {
		return mor_fail(err, MORTISE_EMANIFEST, "%s: %s", file, fault.what());
	} catch (...) {
		return mor_fail(err, MORTISE_EMANIFEST, "%s: cannot be read as TOML", file);
	}
}
