import type { Timer } from "#src/processes/process.ts";

/**
 * Counts of an item: attempts, failures, and attempts that exceeded their time. `parked`: its id in `work.parked`, if it was given up on
 * before.
 */
type Tried = { id: number; tries: number; failures: number; timeouts: number; parked: number | null };

/** An event to be handled, identified by its position in the log. */
export type EventItem = Tried & { position: number; stream: string; revision: number };
/** A timer that is due. */
export type TimerItem = Tried & { timer: Omit<Timer, "key"> };

/** Work item of a lane. */
export type Item = EventItem | TimerItem;

export const isEventItem = (item: Item): item is EventItem => "position" in item;

/** An item as a row of PostgreSQL. */
export type ItemRow = Tried & {
  position: number | null;
  stream: string | null;
  revision: number | null;
  timer: string | null;
  payload: Record<string, unknown> | null;
  dueAt: Date;
};

/** Select list of `work.items` that gives an `ItemRow`. */
export const itemColumns =
  'id, position, stream, revision, timer, payload, due_at as "dueAt", tries, failures, timeouts, parked';

/** Items a lane works on in one turn, at most; then other lanes come first. */
export const maxItemsPerTurn = 20;

/**
 * Conflict clause of an insertion into `work.items as item`: a timer that is set again becomes a new item with a new id, so a completion
 * recorded for the old one does not touch it.
 */
export const replaceTimerSql = `(process, key, timer) where timer is not null and parked is null do update
  set id = default, due_at = excluded.due_at, payload = excluded.payload, tries = 0, failures = 0, timeouts = 0`;

export function itemOf({ position, stream, revision, timer, payload, dueAt, ...tried }: ItemRow): Item {
  if (timer !== null) return { ...tried, timer: { name: timer, dueAt, payload: payload ?? {} } };
  return { ...tried, position: position!, stream: stream!, revision: revision! };
}

/**
 * Reduces the events to the newest one, with the highest counts of any of them, and keeps all timers. `covered`: the older events, which it
 * settles too.
 */
export function keepNewestEvent(items: readonly Item[]): { toDo: Item[]; covered: Item[] } {
  const events = items.filter(isEventItem);
  const timers = items.filter((item) => !isEventItem(item));
  const newest = events.pop();
  if (!newest) return { toDo: timers, covered: [] };
  const most = (count: "tries" | "failures" | "timeouts"): number =>
    Math.max(newest[count], ...events.map((event) => event[count]));
  const counts = { tries: most("tries"), failures: most("failures"), timeouts: most("timeouts") };
  return { toDo: [{ ...newest, ...counts }, ...timers], covered: events };
}
