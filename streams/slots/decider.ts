import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import type { SlotsEvent } from "./events.ts";

/** Who holds a slot, and since when (ISO 8601). A holder may be gone without having said so: whoever finds no slot looks. */
export type Slots = ReadonlyMap<string, string>;

export type SlotsCommand =
  /** `cap` null: no limit. `vacated`: holders that are known to be gone. */
  | { type: "TakeSlot"; holderId: string; takenAt: string; cap: number | null; vacated: readonly string[] }
  | { type: "VacateSlot"; holderId: string };

function decide(command: SlotsCommand, slots: Slots): SlotsEvent[] {
  const { holderId } = command;
  if (command.type === "VacateSlot") {
    return slots.has(holderId) ? [{ type: "SlotVacated", data: { holderId } }] : [];
  }
  if (slots.has(holderId)) return [];
  const vacated = command.vacated.filter((gone) => slots.has(gone));
  if (command.cap !== null && slots.size - vacated.length >= command.cap) {
    throw new Rejected("plan_limit_reached", `all ${command.cap} are taken`);
  }
  return [{ type: "SlotTaken", data: { holderId, takenAt: command.takenAt, vacated } }];
}

function evolve(slots: Slots, event: SlotsEvent): Slots {
  const next = new Map(slots);
  if (event.type === "SlotVacated") next.delete(event.data.holderId);
  else {
    for (const gone of event.data.vacated) next.delete(gone);
    next.set(event.data.holderId, event.data.takenAt);
  }
  return next;
}

export const slotsDecider: Decider<Slots, SlotsCommand, SlotsEvent> = {
  category: "slots",
  initial: new Map(),
  evolve,
  decide,
};
