import type { Dependencies } from "../dependencies.ts";
import type { StreamService } from "../handle.ts";

/**
 * The same dependencies for one look at what a decision rests on: of installation, workspace, identity, domain, places in the plan and deliveries each
 * stream is read once, however many rules ask about it. What they answer is as of this look: whoever has waited since takes another one.
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
