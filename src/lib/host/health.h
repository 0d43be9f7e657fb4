/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health: pings by the dialect's rules, and the meaning of their answers. "Unhealthy" is a mark with a
 * reason and a time. The dialect decides whether it also kills.
 */
#ifndef MOR_HOST_HEALTH_H
#define MOR_HOST_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/kept.h"
#include "loop/loop.h"

struct mor_method;
struct mor_verdict;

/* When the plugin is asked for its health, and what silence means: the dialect's health and watchdog as one
 * mask. */
enum mor_ask {
	MOR_ASK_FIRST = 1,
	MOR_ASK_AFTER_TIMEOUT = 2,
	MOR_ASK_IDLE = 4,
	MOR_ASK_BUSY = 8,
	MOR_ASK_KILL = 16,
	MOR_ASK_LEARN = 32
};

struct mor_health_state {
	int healthy;      /* 1, 0, -1: not known                                */
	int64_t since_ms; /* since when that is so                              */
	char status[32];
	struct mor_kept reason;
	bool unimplemented; /* -32601: never asked again                          */
	unsigned asks;      /* enum mor_ask, minus what the quirk `watchdog` removes */
	uint32_t every_ms;
	struct mor_timer timer;
};

/* The part that belongs to one process. */
struct mor_health_life {
	bool asked;
	bool pinging, holding; /* holding: calls wait for this ping's answer            */
	bool learned;          /* has answered a ping during a call                      */
	bool owed;             /* a ping was given up and has not been answered since    */
	int64_t skipped_ms;    /* when the last ping was left out, because one was under way */
	int64_t during;        /* id of the call beside which the last ping went out; 0: none */
	unsigned misses;
};

void mor_health_started(mortise_plugin *plugin); /* a new process is ready */
/* The plugin's process is gone, or will be. true: this is new; report it after the state has moved. */
bool mor_health_ended(mortise_plugin *plugin, const char *why);
void mor_health_tell_ended(mortise_plugin *plugin, const char *why);
/* Called before calls are sent: true if a ping was sent first and they must wait. */
bool mor_health_first(mortise_plugin *plugin, const struct mor_method *next);
void mor_health_after_timeout(mortise_plugin *plugin);
void mor_health_answered(mortise_call *call, const struct mor_verdict *verdict);
/* A ping that was given up has been answered late. */
void mor_health_late(mortise_call *call);
/* Any message is a sign of life. */
void mor_health_heard(mortise_plugin *plugin);

#endif
