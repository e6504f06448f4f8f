import { expect } from "chai";
import { sendDraft } from "#src/commands/drafts/drafts.ts";
import { cause, identityId, type SendWorld, workspaceId } from "./sendWorld.ts";

export const first = "<1@customer.example>";
export const accepted = { kind: "accepted", response: "250 ok" } as const;
export const later = { kind: "refused", retryable: true, code: "greylisted", message: "451 later" } as const;
export const unknown = { kind: "unknown", message: "the connection was lost" } as const;

/** Expects what must hold whenever nothing is left to do (invariants 1 and 8). */
export async function expectSound(
  world: SendWorld,
  draftIds: string[],
  final = ["sent", "failed", "stale"],
): Promise<void> {
  const perAttempt = new Map<string, number>();
  for (const { attemptId } of world.hands) perAttempt.set(attemptId, (perAttempt.get(attemptId) ?? 0) + 1);
  expect(Math.max(0, ...perAttempt.values()), "hand-overs of one attempt").to.be.at.most(1);
  let charged = 0;
  for (const draftId of draftIds) {
    const draft = await world.state.draft(draftId);
    expect(final, "how it ended").to.include(draft.status);
    const attempts = attemptsOf(world, draftId);
    const hands = world.hands.filter((hand) => attempts.has(hand.attemptId));
    const accepts = hands.filter((hand) => hand.outcome.kind === "accepted").length;
    const unconfirmed = draft.status === "failed" && draft.failureCode === "unconfirmed";
    expect(accepts, "accepts of one draft").to.be.at.most(1);
    if (!unconfirmed && draft.status !== "sent") expect(accepts, `accepted, yet ${draft.status}`).to.equal(0);
    if (draft.status === "sent" || unconfirmed) charged += 1;
    if (draft.status === "sent") {
      const told = world.log.all.filter((event) => event.type === "MessageSent" && event.data.draftId === draftId);
      expect(told.length, "MessageSent").to.equal(1);
    }
  }
  expect(await world.state.quota(), "quota").to.equal(charged);
  expect((await world.state.thread()).claims, "claims left").to.deep.equal({});
}

export const attemptsOf = (world: SendWorld, draftId: string): Set<string> =>
  new Set(
    world.log.all
      .filter((event) => event.type === "DeliveryStarted" && event.data.draftId === draftId)
      .map((event) => event.stream.slice("delivery-".length)),
  );

export async function requireHuman(world: SendWorld): Promise<void> {
  const command = { type: "UpdateIdentity", changes: { requireHumanApproval: true }, mayLoosen: true } as const;
  await world.node.identities.handle(identityId, command, cause);
}

export const send = (world: SendWorld, draftId: string, on = world.node) =>
  sendDraft(on, { workspaceId, draftId }, cause);

/** True between the start of a hand-over and its recorded outcome. */
export const isHandingOver = ({ log }: SendWorld): boolean =>
  log.all.some(
    ({ type, stream }) =>
      type === "DeliveryStarted" && log.all.filter((event) => event.stream === stream).at(-1)?.type === type,
  );
