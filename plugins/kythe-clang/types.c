/* SPDX-License-Identifier: Apache-2.0 */
/* Types -> nodes: built-in ones by name, applications of constructors, and the declarations of named types. */
#include "index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 130 /* constructor, result and parameters; C guarantees 127 */

#define SIGNATURE_MAX \
	1000 /* of a type; longer ones (a pointer to a pointer to ...) are known by their hash \
	      */

struct type {
	tenon_vname vname;
};

static bool same_type(const void *value, const void *key)
{
	return strcmp(((const struct type *)value)->vname.signature, key) == 0;
}

/* Types of everybody: no corpus, no path. `ret_new`: its facts are still to be emitted. */
static const tenon_vname *shared(struct index *ix, const char *signature, bool *ret_new)
{
	uint64_t hash = hash_text(signature);
	struct type *type = table_find(&ix->types, hash, same_type, signature);

	*ret_new = !type;
	if (!type) {
		type = arena_take(&ix->arena, sizeof(*type));
		type->vname = (tenon_vname){ arena_copy(&ix->arena, signature), "", "", "", LANGUAGE };
		table_add(&ix->types, hash, type);
	}
	return &type->vname;
}

static const tenon_vname *builtin(struct index *ix, const char *name)
{
	char signature[80];
	const tenon_vname *node;
	bool fresh;

	snprintf(signature, sizeof(signature), "%s#builtin", name);
	node = shared(ix, signature, &fresh);
	if (fresh)
		emit_fact(ix, node, "/kythe/node/kind", "tbuiltin");
	return node;
}

/* parts[0] is the constructor. The signature names all parts; paths keep equal names of
 * different files apart. */
static const tenon_vname *apply(struct index *ix, const tenon_vname *const *parts, unsigned count)
{
	const tenon_vname *node;
	char *signature = NULL;
	size_t size = 0;
	bool fresh;
	FILE *text = open_memstream(&signature, &size);

	for (unsigned i = 0; text && i < count; i++) {
		if (!parts[i]) {
			fclose(text);
			free(signature);
			return NULL;
		}
		fprintf(text, "%s%s%s%s",
			i == 0 ? "" :
			i == 1 ? "(" :
				 ",",
			parts[i]->signature, *parts[i]->path ? "@" : "", parts[i]->path);
	}
	if (!text)
		return NULL;
	fputc(')', text);
	fclose(text);
	if (size > SIGNATURE_MAX)
		size = (size_t)snprintf(signature, size, "%s(#%016llx)", parts[0]->signature,
					(unsigned long long)hash_text(signature));
	node = shared(ix, signature, &fresh);
	free(signature);
	if (!fresh)
		return node;
	emit_fact(ix, node, "/kythe/node/kind", "tapp");
	for (unsigned i = 0; i < count; i++)
		emit_ordinal(ix, node, "/kythe/edge/param", i, parts[i]);
	return node;
}

static const tenon_vname *apply_one(struct index *ix, const char *constructor, const tenon_vname *to)
{
	const tenon_vname *parts[] = { builtin(ix, constructor), to };

	return apply(ix, parts, 2);
}

/* ---- built-in types ---- */

static const struct {
	enum CXTypeKind kind;
	const char *name;
} builtins[] = {
	{ CXType_Void, "void" },
	{ CXType_Bool, "_Bool" },
	{ CXType_Char_S, "char" },
	{ CXType_Char_U, "char" },
	{ CXType_SChar, "signed char" },
	{ CXType_UChar, "unsigned char" },
	{ CXType_Short, "short" },
	{ CXType_UShort, "unsigned short" },
	{ CXType_Int, "int" },
	{ CXType_UInt, "unsigned int" },
	{ CXType_Long, "long" },
	{ CXType_ULong, "unsigned long" },
	{ CXType_LongLong, "long long" },
	{ CXType_ULongLong, "unsigned long long" },
	{ CXType_Int128, "__int128" },
	{ CXType_UInt128, "unsigned __int128" },
	{ CXType_Half, "__fp16" },
	{ CXType_Float16, "_Float16" },
	{ CXType_Float, "float" },
	{ CXType_Double, "double" },
	{ CXType_LongDouble, "long double" },
	{ CXType_Float128, "__float128" },
};

const tenon_vname *builtin_node(struct index *ix, const char *name)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
		if (strcmp(builtins[i].name, name) == 0)
			return builtin(ix, name);
	return NULL;
}

static const tenon_vname *builtin_kind(struct index *ix, enum CXTypeKind kind)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
		if (builtins[i].kind == kind)
			return builtin(ix, builtins[i].name);
	return NULL;
}

/* ---- the others ---- */

/* A tag that is announced and, as far as this unit sees, never defined: known by its name alone. */
static const tenon_vname *nominal(struct index *ix, CXCursor declaration)
{
	CXString usr = clang_getCursorUSR(declaration);
	const tenon_vname *node;
	bool fresh;

	node = shared(ix, arena_printf(&ix->arena, "%s#t", clang_getCString(usr)), &fresh);
	clang_disposeString(usr);
	if (fresh)
		emit_fact(ix, node, "/kythe/node/kind", "tnominal");
	return node;
}

static const tenon_vname *tag(struct index *ix, CXType type)
{
	CXCursor declaration = clang_getTypeDeclaration(type);
	CXCursor definition = clang_getCursorDefinition(declaration);

	return clang_Cursor_isNull(definition) ? nominal(ix, declaration) : decl_node(ix, definition);
}

static const tenon_vname *function(struct index *ix, CXType type)
{
	const tenon_vname *parts[PARTS_MAX];
	int count = clang_getNumArgTypes(type);

	if (type.kind == CXType_FunctionNoProto)
		return builtin(ix, "knrfn");
	if (count < 0 || count + 2 > PARTS_MAX)
		return NULL;
	parts[0] = builtin(ix, clang_isFunctionTypeVariadic(type) ? "fnvararg" : "fn");
	parts[1] = type_node(ix, clang_getResultType(type));
	for (int i = 0; i < count; i++)
		parts[i + 2] = type_node(ix, clang_getArgType(type, (unsigned)i));
	return apply(ix, parts, (unsigned)count + 2);
}

static const tenon_vname *unqualified(struct index *ix, CXType type)
{
	switch (type.kind) {
	case CXType_Pointer:
		return apply_one(ix, "ptr", type_node(ix, clang_getPointeeType(type)));
	case CXType_ConstantArray:
	case CXType_VariableArray:
		return apply_one(ix, "carr", type_node(ix, clang_getArrayElementType(type)));
	case CXType_IncompleteArray:
		return apply_one(ix, "iarr", type_node(ix, clang_getArrayElementType(type)));
	case CXType_Vector:
		return apply_one(ix, "vector", type_node(ix, clang_getElementType(type)));
	case CXType_Complex:
		return apply_one(ix, "complex", type_node(ix, clang_getElementType(type)));
	case CXType_Atomic:
		return apply_one(ix, "atomic", type_node(ix, clang_Type_getValueType(type)));
	case CXType_FunctionNoProto:
	case CXType_FunctionProto:
		return function(ix, type);
	case CXType_Elaborated:
		return type_node(ix, clang_Type_getNamedType(type));
	case CXType_Attributed:
		return type_node(ix, clang_Type_getModifiedType(type));
	case CXType_Typedef:
		return decl_node(ix, clang_getTypeDeclaration(type));
	case CXType_Record:
	case CXType_Enum:
		return tag(ix, type);
	default:
		break;
	}
	return builtin_kind(ix, type.kind);
}

const tenon_vname *type_node(struct index *ix, CXType type)
{
	CXType canonical = clang_getCanonicalType(type);
	const tenon_vname *node = unqualified(ix, type);

	/* typeof, auto and the like: what they stand for. */
	if (!node && canonical.kind != type.kind)
		return type_node(ix, canonical);
	if (node && clang_isRestrictQualifiedType(type))
		node = apply_one(ix, "restrict", node);
	if (node && clang_isVolatileQualifiedType(type))
		node = apply_one(ix, "volatile", node);
	if (node && clang_isConstQualifiedType(type))
		node = apply_one(ix, "const", node);
	return node;
}
