import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type AnsweredAddressEvent, answeredAddressStream } from "./events.ts";
import { type AnsweredAddress, type AnswerLimit, maySpringFromOurs, requireBelow, withAnswer } from "./looping.ts";

/** `limits`: as many counted answers are sent in each span of time. */
export type AnsweredAddressCommand = {
  type: "CountAnswer";
  answer: AnsweredAddressEvent["data"];
  limits: readonly AnswerLimit[];
};

/**
 * Records an answer to a message that may have been caused by an answer of ours to this address, and the first answer of a day. Several
 * drafts on one message are one answer. Throws Rejected loop_guarded.
 */
function decide({ answer, limits }: AnsweredAddressCommand, address: AnsweredAddress): AnsweredAddressEvent[] {
  const isKnown = address.answers.some(({ messageId }) => messageId === answer.messageId);
  if (isKnown || !maySpringFromOurs(address, answer)) return [];
  requireBelow(withAnswer(address, answer), { limits, at: answer.at });
  return [{ type: "AddressAnswered", data: answer }];
}

export const answeredAddressDecider: Decider<AnsweredAddress, AnsweredAddressCommand, AnsweredAddressEvent> = {
  category: "answeredAddress",
  initial: { answers: [] },
  evolve(address, event) {
    if (event.type === "AddressAnswered") return withAnswer(address, event.data);
    return unreachable(event as never);
  },
  decide,
};

export const answeredAddresses = stream({
  decider: answeredAddressDecider,
  name: answeredAddressStream,
  begunBy: ["CountAnswer"],
});
