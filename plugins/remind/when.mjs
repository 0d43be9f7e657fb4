// SPDX-License-Identifier: Apache-2.0
// Times as people write them, at the beginning of a text: in 10 minutes, at 18:30, tomorrow at 9, on friday,
// on 2026-12-24 at 18:00, every day at 8, every 2 hours. All of them in the time zone of this machine.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MORNING = { hours: 9, minutes: 0 }; // where a day is given without a time

const units = { s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };
const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const UNIT = "(?:seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)(?![a-z])";
const SPAN = `\\d+(?:\\.\\d+)?\\s*${UNIT}`;
const DAY_NAME = `(?:${days.map((day) => `${day.slice(0, 3)}(?:${day.slice(3)})?`).join("|")})\\b`;
const CLOCK = "(?:at\\s+)?(\\d{1,2})(?::(\\d{2}))?\\s*(am|pm)?\\b";

/** Takes a pattern off the beginning of a text: [found, rest], or nothing. */
function take(pattern, text) {
  const found = new RegExp(`^${pattern}\\s*`, "i").exec(text);
  return found && [found, text.slice(found[0].length)];
}

function clockOf([, hours, minutes, half]) {
  const hour = half ? (Number(hours) % 12) + (half.toLowerCase() === "pm" ? 12 : 0) : Number(hours);
  const time = { hours: hour, minutes: Number(minutes ?? 0) };
  return hour < 24 && time.minutes < 60 && (!half || Number(hours) <= 12) ? time : undefined;
}

/** A time of day, if there is one: { time, rest }. A bare number is one only after "at". */
function takeClock(text) {
  const found = take(CLOCK, text);
  const time = found && /^at\b|:|[ap]m/i.test(found[0][0]) ? clockOf(found[0]) : undefined;
  return time ? { time, rest: found[1] } : { rest: text };
}

/** That day at that time; a summer time that begins meanwhile does not matter. */
function on(day, { hours, minutes }, plus = 0) {
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + plus, hours, minutes);
}

/** The first moment after now at this time of day, `step` days apart. */
function next(now, day, time, step) {
  const first = on(day, time);
  return first > now ? first : on(day, time, step);
}

function spanOf(text) {
  let sum = 0;
  for (const [, number, unit] of text.matchAll(new RegExp(`(\\d+(?:\\.\\d+)?)\\s*(${UNIT})`, "gi")))
    sum += Number(number) * units[unit[0].toLowerCase()];
  return sum;
}

function weekday(name, now) {
  const wanted = days.findIndex((day) => day.startsWith(name.toLowerCase().slice(0, 3)));
  return on(now, { hours: 0, minutes: 0 }, (wanted - now.getDay() + 7) % 7);
}

/** "on DATE", a name of a day, "today", "tomorrow": the day, and after how many days it comes again. */
function takeDay(text, now) {
  const date = take("(?:on\\s+)?(\\d{4})-(\\d{1,2})-(\\d{1,2})\\b", text);
  if (date) {
    const [, year, month, day] = date[0].map(Number);
    const found = new Date(year, month - 1, day);
    return found.getMonth() === month - 1 ? { day: found, rest: date[1] } : undefined;
  }
  const named = take(`(?:on\\s+|next\\s+)?(${DAY_NAME})`, text);
  if (named) return { day: weekday(named[0][1], now), step: 7, rest: named[1] };
  const near = take("(today|tomorrow)\\b", text);
  if (!near) return undefined;
  return { day: on(now, MORNING, near[0][1].toLowerCase() === "tomorrow" ? 1 : 0), rest: near[1] };
}

function takeOnce(text, now) {
  const span = take(`in\\s+((?:${SPAN}(?:\\s*(?:and\\s+|,\\s*)?))+)`, text);
  if (span) return { at: new Date(now.getTime() + spanOf(span[0][1])), rest: span[1] };
  const day = takeDay(text, now);
  const { time, rest } = takeClock(day ? day.rest : text);
  if (day) return { at: next(now, day.day, time ?? MORNING, day.step ?? 0), rest };
  return time && { at: next(now, now, time, 1), rest };
}

/** "every 2 hours", "every day at 8", "every friday": the same, and how it comes again. */
function takeEvery(text, now) {
  const span = take(`every\\s+(${SPAN}|hour\\b|minute\\b)`, text);
  if (span) {
    const every = spanOf(/^\d/.test(span[0][1]) ? span[0][1] : `1 ${span[0][1]}`);
    return { at: new Date(now.getTime() + every), every, rest: span[1] };
  }
  const day = take(`every\\s+(day|week|${DAY_NAME})`, text);
  if (!day) return undefined;
  const name = day[0][1].toLowerCase();
  const step = name === "day" ? 1 : 7;
  const from = name === "day" || name === "week" ? now : weekday(name, now);
  const { time, rest } = takeClock(day[1]);
  return { at: next(now, from, time ?? MORNING, step), days: step, rest };
}

/**
 * The time at the beginning of a text: { at, rest }, with `every` (milliseconds) or `days` if it comes again.
 * Nothing if there is none, or if it lies in the past. /
 */
export function parseWhen(text, now = new Date()) {
  const found = takeEvery(text.trim(), now) ?? takeOnce(text.trim(), now);
  if (!found || Number.isNaN(found.at.getTime()) || found.at <= now) return undefined;
  return { ...found, rest: found.rest.replace(/^(?:to|that|:)\s+/i, "").trim() };
}

/** When it comes again, after now; nothing if it does not. */
export function following({ at, every, days: step }, now) {
  if (every) return new Date(now.getTime() + every - ((now.getTime() - at) % every));
  if (!step) return undefined;
  let then = new Date(at);
  while (then <= now) then = on(then, { hours: then.getHours(), minutes: then.getMinutes() }, step);
  return then;
}

/** As a person reads it: the day only where it is another one. */
export function shown(at, now = new Date()) {
  const two = (number) => String(number).padStart(2, "0");
  const seconds = at - now < HOUR && at.getSeconds() ? `:${two(at.getSeconds())}` : "";
  const time = `${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
  if (at.toDateString() === now.toDateString()) return `at ${time}`;
  return `on ${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} at ${time}`;
}
