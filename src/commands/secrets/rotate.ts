import { CannotOpen, type KeyRing, type Reseal } from "#src/platform/secrets/keyRing.ts";
import { categoryOf, idOf } from "#streams/event.ts";
import { streams } from "#streams/index.ts";
import type { Stream } from "#streams/stream.ts";
import { resealedChannels } from "../approvals/approvalChannels.ts";
import type { Dependencies } from "../dependencies.ts";
import { dkimKeyOwner } from "../domains/domains.ts";
import type { Cause, StreamService, StreamServices } from "../handle.ts";
import { resealedActions } from "../rules/ruleSecrets.ts";
import { secretOwner } from "../webhooks.ts";

type DeletableState = { workspaceId: string; exists: boolean; deleted: boolean };

/** A kind of stream whose events contain encrypted secrets, and the command that replaces each secret with the result of `again`. */
type SealedNoun<State extends DeletableState = any, Command = any> = {
  category: string;
  serviceOf: (services: StreamServices) => StreamService<string, State, Command>;
  command: (state: State, again: Reseal, id: string) => Command;
};

const noun = <State extends DeletableState, Command>(
  { decider }: Stream<string, State, Command, any>,
  serviceOf: SealedNoun<State, Command>["serviceOf"],
  command: SealedNoun<State, Command>["command"],
): SealedNoun => ({ category: decider.category, serviceOf, command });

/** All nouns with secrets. A test searches the whole log for encrypted text, so it finds a noun that is missing here. */
const sealedNouns: readonly SealedNoun[] = [
  noun(
    streams.domains,
    ({ domains }) => domains,
    ({ workspaceId, privateKey }, again) => ({
      type: "ResealKey" as const,
      privateKey: again(privateKey, dkimKeyOwner(workspaceId)),
    }),
  ),
  noun(
    streams.identities,
    ({ identities }) => identities,
    (identity, again) => ({
      type: "ResealSecrets" as const,
      channels: resealedChannels(identity, again),
    }),
  ),
  noun(
    streams.rules,
    ({ rules }) => rules,
    (rule, again) => ({ type: "ResealSecrets" as const, actions: resealedActions(rule, again) }),
  ),
  noun(
    streams.webhooks,
    ({ webhooks }) => webhooks,
    ({ workspaceId, secret, previous }, again, webhookId) => ({
      type: "ResealSecrets" as const,
      secrets: [secret, ...previous.map((each) => each.secret)].map(({ id, sealed }) => ({
        id,
        sealed: again(sealed, secretOwner({ workspaceId, webhookId })),
      })),
    }),
  ),
];

/** Categories of streams that contain secrets. */
export const sealedCategories: readonly string[] = sealedNouns.map(({ category }) => category);

type OnProgress = (done: number, of: number) => void;

/** Counts the secrets encrypted with each key of the ring, by key id. */
export async function countSecrets(deps: Dependencies, onProgress: OnProgress): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  await eachStream(deps, onProgress, async (stream, { serviceOf, command }) => {
    const { state } = await serviceOf(deps).load(idOf(stream));
    if (!isKept(state)) return;
    command(
      state,
      (sealed) => {
        const kid = sealed.slice(0, sealed.indexOf("."));
        counts.set(kid, (counts.get(kid) ?? 0) + 1);
        return sealed;
      },
      idOf(stream),
    );
  });
  return counts;
}

/** `resealed`: number of streams. `unopened`: streams with a secret whose key is gone from the ring. */
export type Resealed = { resealed: number; unopened: string[] };

/**
 * Encrypts again every stored secret that does not use the ring's first key, with one event on each stream. Repeating it changes nothing.
 */
export async function resealSecrets(deps: Dependencies, cause: Cause, onProgress: OnProgress): Promise<Resealed> {
  const done: Resealed = { resealed: 0, unopened: [] };
  const again = resealing(deps.keyRing);
  await eachStream(deps, onProgress, async (stream, { serviceOf, command }) => {
    const { state } = await serviceOf(deps).load(idOf(stream));
    if (!isKept(state)) return;
    const ofWorkspace = { ...cause, workspaceId: (state as DeletableState).workspaceId };
    try {
      const sealed = (now: any) => command(now, again, idOf(stream));
      if ((await serviceOf(deps).handle(idOf(stream), sealed, ofWorkspace)).changed) done.resealed += 1;
    } catch (error) {
      if (!(error instanceof CannotOpen)) throw error;
      done.unopened.push(stream);
    }
  });
  return done;
}

/** Returns false for a deleted thing, whose secrets are never used again. */
const isKept = (state: unknown): boolean => (state as DeletableState).exists && !(state as DeletableState).deleted;

const resealing =
  (keyRing: KeyRing): Reseal =>
  (sealed, owner) =>
    keyRing.isNewest(sealed) ? sealed : keyRing.seal(keyRing.open(sealed, owner), owner);

async function eachStream(
  deps: Dependencies,
  onProgress: OnProgress,
  work: (stream: string, noun: SealedNoun) => Promise<void>,
): Promise<void> {
  const names = [...(await streamsWithSecrets(deps))];
  for (const [index, stream] of names.entries()) {
    const category = categoryOf(stream);
    await work(stream, sealedNouns.find((each) => each.category === category) as SealedNoun);
    onProgress(index + 1, names.length);
  }
}

/** Finds the streams in the log itself, because a read model may lag. */
async function streamsWithSecrets({ store }: Dependencies): Promise<Set<string>> {
  const streams = new Set<string>();
  const head = await store.head();
  if (head === 0) return streams;
  const done = new AbortController();
  for await (const batch of store.subscribe({ after: 0, categories: [...sealedCategories], signal: done.signal })) {
    for (const { stream } of batch.events) streams.add(stream);
    if (batch.position >= head) break;
  }
  done.abort();
  return streams;
}
