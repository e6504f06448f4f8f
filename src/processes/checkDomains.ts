import type { Dependencies } from "#src/commands/dependencies.ts";
import { checkDomain, releaseLostNames } from "#src/commands/domains/domainChecks.ts";
import { releaseNames } from "#src/commands/domains/domains.ts";
import { removeFromProvider } from "#src/commands/domains/providerDomains.ts";
import { ProviderAway } from "#src/mail/out/sendingDomains.ts";
import type { Domain } from "#streams/domain/domain.ts";
import { type CheckIntervals, nextCheckAt } from "#streams/domain/schedule.ts";
import { idOf } from "#streams/event.ts";
import type { Acting, Process, RetryLater } from "./process.ts";

const timer = "check";
/** Milliseconds until a provider that did not answer is asked again to delete a domain. */
const providerAgainMs = 60_000;

/** Checks a domain's DNS records when it is added, then by schedule (streams/domain/schedule.ts), and on request. */
export function checkDomains(deps: Dependencies, intervals: CheckIntervals): Process {
  let logged: string | undefined;

  /** Logs a fault of the SPF record that every domain has to include, once until it is another. */
  function onOwnFault(because: string): void {
    if (because === logged) return;
    logged = because;
    deps.log?.warn?.({ because }, "receivers refuse the SPF record that each domain has to have");
  }

  async function check(domainId: string, acting: Acting): Promise<void> {
    await plan(domainId, await checkDomain(deps, { domainId, onOwnFault }, acting.cause), acting);
  }

  async function plan(domainId: string, domain: Domain, { timers }: Acting): Promise<void> {
    const next = nextCheckAt(domain, intervals);
    if (next === null) await timers.cancel(domainId, timer);
    else await timers.set({ key: domainId, name: timer, dueAt: next });
  }

  /**
   * Removes a domain from the provider. Returns false if the provider does not answer. A domain that the provider refuses to delete stays
   * there; the refusal is logged, and the operator can delete the domain.
   */
  async function hasLeft(domainId: string, domain: Domain): Promise<boolean> {
    try {
      const refused = await removeFromProvider(deps, { domainId, domain });
      if (refused !== undefined)
        deps.log?.error({ domain: domain.mailDomain, why: refused }, "a deleted domain stays at the mail provider");
      return true;
    } catch (error) {
      if (!(error instanceof ProviderAway)) throw error;
      return false;
    }
  }

  const load = async (domainId: string): Promise<Domain> => (await deps.domains.load(domainId)).state;

  return {
    name: "checkDomains",
    categories: ["domain"],
    keyOf: (event) => idOf(event.stream),
    on: {
      DomainAdded: async (event, context) => {
        const domain = await load(idOf(event.stream));
        // If the first check is recorded already, this event is handled again, and the time of the next check may not have been set.
        if (domain.attempts > 0) await plan(idOf(event.stream), domain, context);
        else await check(idOf(event.stream), context);
      },
      DomainCheckRequested: (event, context) => check(idOf(event.stream), context),
      DomainLost: async (event, { cause }) => {
        const domain = await load(idOf(event.stream));
        // If the domain was verified again meanwhile, it keeps its names.
        if (domain.status === "verified") return;
        await releaseLostNames(deps, { domainId: idOf(event.stream), names: domain }, cause);
      },
      DomainDeleted: async (event, { cause, timers }): Promise<RetryLater | undefined> => {
        const domainId = idOf(event.stream);
        await timers.cancel(domainId, timer);
        const domain = await load(domainId);
        if (!(await hasLeft(domainId, domain))) return { againInMs: providerAgainMs };
        await releaseNames(deps, { domainId, names: domain }, cause);
        return undefined;
      },
    },
    onTimer: (due, context) => check(due.key, context),
  };
}
