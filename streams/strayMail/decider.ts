import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type StrayMailEvent, strayMailStream } from "./events.ts";

export type StrayMail = { kept: boolean };

type DataOf<T extends StrayMailEvent["type"]> = Extract<StrayMailEvent, { type: T }>["data"];

export type StrayMailCommand =
  | { type: "KeepForNobody"; mail: DataOf<"UnknownRecipientReceived"> }
  | { type: "QuarantinePost"; post: DataOf<"PostQuarantined"> };

export const strayMailDecider: Decider<StrayMail, StrayMailCommand, StrayMailEvent> = {
  category: "strayMail",
  initial: { kept: false },
  evolve(_, event) {
    switch (event.type) {
      case "UnknownRecipientReceived":
      case "PostQuarantined":
        return { kept: true };
      default:
        return unreachable(event);
    }
  },
  decide(command, { kept }) {
    if (kept) return [];
    return command.type === "KeepForNobody"
      ? [{ type: "UnknownRecipientReceived", data: command.mail }]
      : [{ type: "PostQuarantined", data: command.post }];
  },
};

export const strayMails = stream({ decider: strayMailDecider, name: strayMailStream });
