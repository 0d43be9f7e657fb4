#ifndef MACROS_H
#define MACROS_H

#define FROM_HEADER 2

extern int declared;

#endif
