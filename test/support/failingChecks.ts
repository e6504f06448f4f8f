import { type InProcess, until, type Workspace } from "./inProcess.ts";

const sixHoursMs = 6 * 3_600_000;

/** Waits for a check by schedule that is six hours after the last one. `DOMAIN_CHECK_SECONDS` has to be less. */
export async function checkHoursLater(
  service: Pick<InProcess, "clock">,
  { ask }: Pick<Workspace, "ask">,
  { id }: { id: string },
): Promise<void> {
  const attempts = async () => (await ask(`GET /v1/domains/${id}`)).json.verification_attempts;
  const before = await attempts();
  service.clock.advance(sixHoursMs);
  await until(async () => (await attempts()) > before);
}

/** Has a verified domain whose records are wrong checked until it is lost. */
export async function loseDomain(
  service: Pick<InProcess, "clock">,
  workspace: Pick<Workspace, "ask">,
  domain: { id: string },
): Promise<void> {
  const status = async () => (await workspace.ask(`GET /v1/domains/${domain.id}`)).json.status;
  while ((await status()) === "verified") await checkHoursLater(service, workspace, domain);
}
