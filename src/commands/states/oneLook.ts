import type { Draft } from "#streams/draft/draft.ts";
import type { Dependencies } from "../dependencies.ts";
import type { StreamService } from "../handle.ts";

/**
 * The same dependencies for one look at what a decision rests on: of installation, workspace, identity, domain, places in the plan and deliveries each
 * stream is read once, however many rules ask about it. What they answer is as of this look: after a wait another one is taken.
 */
export const oneLook = (deps: Dependencies): Dependencies => ({
  ...deps,
  installations: readOnce(deps.installations),
  workspaces: readOnce(deps.workspaces),
  identities: readOnce(deps.identities),
  domains: readOnce(deps.domains),
  slots: readOnce(deps.slots),
  deliveries: readOnce(deps.deliveries),
});

/**
 * A draft, and a look for what is decided about it, which is never older than the draft. `ask` asks that look ahead, in one turn with the draft, where
 * it is known here whose that is: `asked` is what it answers, of then.
 */
export async function lookAtDraft<Asked>(
  deps: Dependencies,
  draftId: string,
  ask: (look: Dependencies, draft: Draft) => Asked,
): Promise<{ draft: Draft; position: number; look: Dependencies; asked: Asked | undefined }> {
  const look = oneLook(deps);
  const kept = deps.drafts.kept(draftId);
  const asked = kept?.state.exists ? ask(look, kept.state) : undefined;
  const { state: draft, revision, position } = await deps.drafts.load(draftId);
  // Of a draft that has changed since, what was asked may be from before that.
  const isOlder = asked !== undefined && kept?.revision !== revision;
  return { draft, position, look: isOlder ? oneLook(deps) : look, asked };
}

/** Asks for a draft's identity. */
export const askForIdentity = (look: Dependencies, { identityId }: Draft) => look.identities.load(identityId);

function readOnce<Id, State, Command>(service: StreamService<Id, State, Command>): StreamService<Id, State, Command> {
  const loads = new Map<string, ReturnType<typeof service.load>>();
  return {
    ...service,
    load(id) {
      const name = JSON.stringify(id);
      const known = loads.get(name) ?? service.load(id);
      loads.set(name, known);
      // Asked ahead, it may be that nobody comes for it.
      known.catch(() => undefined);
      return known;
    },
  };
}
