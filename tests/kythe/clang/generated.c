#pragma kythe_metadata "generated.c.meta"
// What was generated, and from what: generated.c.meta says so of places in this file.
//- @made defines/binding Made
//- vname(gsig, gcorpus, groot, "made.proto", glang) generates Made
int made(void);
//- @plain defines/binding Plain
//- !{ _ generates Plain }
//- Plain /kythe/edge/example vname(target, _, _, _, _)
int plain;
//- @COLOUR defines/binding Colour
//- Place imputes Colour
//- Place.node/kind anchor
//- Place.loc/start 13
//- Place.loc/end 18
//- Place = vname(_, "gcorpus", _, "Colour.java", _)
#define COLOUR 1
#ifdef KYTHE_IS_RUNNING
//- @shown_to_kythe defines/binding _
int shown_to_kythe;
#else
#pragma kythe_metadata "not-there.meta"
#endif
