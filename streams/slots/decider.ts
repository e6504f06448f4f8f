import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type SlotKind, type SlotsEvent, slotsStream } from "./events.ts";

/**
 * Time (ISO 8601) since which each holder has its slot, by holder. A holder may be gone without having vacated its slot: a caller that
 * finds no free slot checks.
 */
export type Slots = Readonly<Record<string, string>>;

export type SlotsCommand =
  /** Takes a slot. `cap` null: no limit. `vacated`: holders that are known to be deleted. */
  | { type: "TakeSlot"; holderId: string; takenAt: string; cap: number | null; vacated: readonly string[] }
  | { type: "VacateSlot"; holderId: string };

export const holdsSlot = (slots: Slots, holderId: string): boolean => Object.hasOwn(slots, holderId);
export const slotsTaken = (slots: Slots): number => Object.keys(slots).length;

/** Returns the holders in the order in which they took their slots: under a smaller cap the first ones keep working. */
export const holdersOldestFirst = (slots: Slots): string[] =>
  Object.entries(slots)
    .sort(([a, at], [b, bt]) => (at === bt ? (a < b ? -1 : 1) : at < bt ? -1 : 1))
    .map(([holderId]) => holderId);

function decide(command: SlotsCommand, slots: Slots): SlotsEvent[] {
  const { holderId } = command;
  switch (command.type) {
    case "TakeSlot":
      return take(command, slots);
    case "VacateSlot":
      return holdsSlot(slots, holderId) ? [{ type: "SlotVacated", data: { holderId } }] : [];
    default:
      return unreachable(command);
  }
}

function take(
  { holderId, takenAt, cap, vacated: gone }: Extract<SlotsCommand, { type: "TakeSlot" }>,
  slots: Slots,
): SlotsEvent[] {
  if (holdsSlot(slots, holderId)) return [];
  const vacated = gone.filter((id) => holdsSlot(slots, id));
  if (cap !== null && slotsTaken(slots) - vacated.length >= cap) {
    throw new Rejected("plan_limit_reached", `all ${cap} are in use`);
  }
  return [{ type: "SlotTaken", data: { holderId, takenAt, vacated } }];
}

function evolve(slots: Slots, event: SlotsEvent): Slots {
  switch (event.type) {
    case "SlotTaken": {
      const { holderId, takenAt, vacated } = event.data;
      return { ...without(slots, vacated), [holderId]: takenAt };
    }
    case "SlotVacated":
      return without(slots, [event.data.holderId]);
    default:
      return unreachable(event);
  }
}

const without = (slots: Slots, gone: readonly string[]): Slots =>
  Object.fromEntries(Object.entries(slots).filter(([holderId]) => !gone.includes(holderId)));

export const slotsDecider: Decider<Slots, SlotsCommand, SlotsEvent> = {
  category: "slots",
  initial: {},
  evolve,
  decide,
};

/** Slots of a workspace, by kind of capped thing. */
export const slots = stream({
  decider: slotsDecider,
  name: ({ workspaceId, kind }: { workspaceId: string; kind: SlotKind }) => slotsStream(workspaceId, kind),
});
