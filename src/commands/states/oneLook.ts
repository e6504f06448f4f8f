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
 * A draft, and a look for what is decided about it, which is never older than the draft. Its identity is asked for in one turn with it, where it is
 * known here whose it is.
 */
export async function lookAtDraft(
  deps: Dependencies,
  draftId: string,
): Promise<{ draft: Draft; position: number; look: Dependencies }> {
  const look = oneLook(deps);
  const kept = deps.drafts.kept(draftId);
  if (kept?.state.exists) void look.identities.load(kept.state.identityId);
  const { state: draft, revision, position } = await deps.drafts.load(draftId);
  // Of a draft that has changed since, what was asked may be from before that.
  return { draft, position, look: kept?.revision === revision ? look : oneLook(deps) };
}

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
