/* SPDX-License-Identifier: Apache-2.0 */
/* Units for the tests. Those with a digest are as Kythe's own writers made and named them. */
#ifndef TESTS_UNIT_KYTHE_UNITS_H
#define TESTS_UNIT_KYTHE_UNITS_H

#define UNIT_JAVA_EMPTY \
	"{\"unit\":{\"v_name\":{\"signature\":\"target1\",\"language\":\"java\"},\"argument\":[\"-bootclasspath\"," \
	"\"kythe/javatests/com/google/devtools/kythe/extractors/java/testdata/empty/fake-rt.jar\",\"-sourcepath\",\"\",\"-cp\",\"\"]," \
	"\"output_key\":\"output\",\"details\":[{\"@type\":\"kythe.io/proto/kythe.proto.JavaDetails\"}]}}"
#define UNIT_JAVA_EMPTY_DIGEST "3153ff30de552a27ad1f5416ad193e289ee8efc300dedb2d8700c9a164f652e3"
#define UNIT_FOO \
	"{\"unit\":{\"v_name\":{\"corpus\":\"foo\",\"language\":\"bar\"},\"source_file\":[\"blodgit\"]}," \
	"\"index\":{\"revisions\":[\"a\",\"b\",\"c\"]}}"
#define UNIT_FOO_DIGEST "8dc36b36bbd39d5ed4fdb3029e1dc5c107d52171c99296f1f3d5b492f619a487"
#define UNIT_BAR \
	"{\"unit\":{\"v_name\":{\"corpus\":\"bar\",\"language\":\"foo\"},\"source_file\":[\"ineffable\"]}," \
	"\"index\":{\"revisions\":[\"a\",\"b\",\"c\"]}}"
#define UNIT_BAR_DIGEST "2ebc9d0c3a9a707b704a5776961529ec48823e08a10ab750fb1c3aa9e4a54f44"

#define UNIT_FULL \
	"{\"unit\":{\"v_name\":{\"signature\":\"s\",\"corpus\":\"c\",\"root\":\"r\",\"path\":\"p\",\"language\":\"c++\"}," \
	"\"required_input\":[{\"v_name\":{\"corpus\":\"k\",\"path\":\"a.c\"},\"info\":{\"path\":\"a.c\",\"digest\":\"d1\"}," \
	"\"details\":[{\"@type\":\"kythe.proto.JarEntryDetails\",\"jar_container\":3}]}," \
	"{\"info\":{\"path\":\"/usr/include/x.h\",\"digest\":\"d2\"}}],\"has_compile_errors\":true," \
	"\"argument\":[\"cc\",\"\",\"a.c\"],\"source_file\":[\"a.c\"],\"output_key\":\"a.o\",\"working_directory\":\"/w\"," \
	"\"entry_context\":\"hash0\",\"environment\":[{\"name\":\"PATH\",\"value\":\"/bin\"},{\"name\":\"EMPTY\"}]," \
	"\"details\":[{\"@type\":\"kythe.io/proto/kythe.proto.BuildDetails\",\"build_target\":\"//a:b\"}]}," \
	"\"index\":{\"revisions\":[\"r1\",\"r2\"]}}"

#endif
