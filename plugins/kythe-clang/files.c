/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

#include <stdio.h>
#include <string.h>

static bool same_file(const void *value, const void *key)
{
	return memcmp(&((const struct file *)value)->id, key, sizeof(CXFileUniqueID)) == 0;
}

static void emit_file(struct index *ix, struct file *file)
{
	emit_fact(ix, &file->vname, "/kythe/node/kind", "file");
	if (file->text)
		tenon_fact(ix->analyzer, &file->vname, "/kythe/text", file->text, file->len);
}

static struct file *make_file(struct index *ix, CXFile handle, const CXFileUniqueID *id)
{
	struct file *file = arena_take(&ix->arena, sizeof(*file));
	CXString name = clang_getFileName(handle);
	CXSourceLocation first;

	file->handle = handle;
	file->id = *id;
	file->path = arena_copy(&ix->arena, clang_getCString(name));
	clang_disposeString(name);
	file->text = clang_getFileContents(ix->tu, handle, &file->len);
	tenon_vname_of(ix->analyzer, file->path, "", &file->vname);
	first = clang_getLocationForOffset(ix->tu, handle, 0);
	file->own = !clang_Location_isInSystemHeader(first);
	return file;
}

struct file *file_of(struct index *ix, CXFile handle)
{
	CXFileUniqueID id;
	struct file *file;
	uint64_t hash;

	memset(&id, 0, sizeof(id));
	if (!handle || clang_getFileUniqueID(handle, &id) != 0)
		return NULL;
	hash = (id.data[0] * 31 + id.data[1]) * 0x9e3779b97f4a7c15u + id.data[2];
	file = table_find(&ix->files, hash, same_file, &id);
	if (!file) {
		file = make_file(ix, handle, &id);
		table_add(&ix->files, hash, file);
		emit_file(ix, file);
		if (file->text && file->own)
			load_metadata(ix, file);
	}
	return file;
}

bool place_of(struct index *ix, CXSourceLocation location, struct file **ret_file, unsigned *ret_offset)
{
	CXFile handle = NULL;

	clang_getFileLocation(location, &handle, NULL, NULL, ret_offset);
	*ret_file = file_of(ix, handle);
	return *ret_file && (*ret_file)->text && *ret_offset <= (*ret_file)->len;
}

bool name_range(struct index *ix, CXSourceLocation location, const char *name, struct range *ret)
{
	size_t len = strlen(name);

	if (!len || !place_of(ix, location, &ret->file, &ret->start) || ret->file->len - ret->start < len ||
	    memcmp(ret->file->text + ret->start, name, len) != 0)
		return false; /* put together by a macro: nowhere in the text */
	ret->end = ret->start + (unsigned)len;
	return true;
}

bool extent_range(struct index *ix, CXSourceRange extent, struct range *ret)
{
	struct file *end_file;

	return place_of(ix, clang_getRangeStart(extent), &ret->file, &ret->start) &&
	       place_of(ix, clang_getRangeEnd(extent), &end_file, &ret->end) && end_file == ret->file &&
	       ret->end > ret->start;
}

const tenon_vname *anchor(struct index *ix, const struct range *range)
{
	tenon_vname *vname = arena_take(&ix->arena, sizeof(*vname));
	const tenon_vname *file = &range->file->vname;
	char number[16];

	*vname = (tenon_vname){ arena_printf(&ix->arena, "@%u:%u", range->start, range->end), file->corpus,
				file->root, file->path, LANGUAGE };
	emit_fact(ix, vname, "/kythe/node/kind", "anchor");
	snprintf(number, sizeof(number), "%u", range->start);
	emit_fact(ix, vname, "/kythe/loc/start", number);
	snprintf(number, sizeof(number), "%u", range->end);
	emit_fact(ix, vname, "/kythe/loc/end", number);
	return vname;
}

bool in_system_header(CXCursor cursor)
{
	return clang_Location_isInSystemHeader(clang_getCursorLocation(cursor));
}
