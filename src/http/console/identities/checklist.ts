/** The part of the setup for answering mail that a workspace has done. A field is undefined if the reader has no right to know it. */
export type SetupProgress = {
  ownDomain: "none" | "pending" | "verified";
  /** True if there is a sandbox domain, which needs no DNS. */
  sandbox: boolean;
  /** The first identity without a channel, or otherwise any identity. */
  identity: { id: string; hasChannel: boolean } | undefined;
  /** True if an approver was reached through a channel, or drafts were decided. */
  reached: boolean;
  keys: number | undefined;
};

export type SetupStep = { done: boolean; title: string; text: string; path: string; action: string };

/** The remaining steps until a person can approve an agent's mail; undefined once all are done. */
export function checklistOf({ ownDomain, sandbox, identity, reached, keys }: SetupProgress): SetupStep[] | undefined {
  const pending = ownDomain === "pending" ? " Your domain is not verified yet." : "";
  const steps: SetupStep[] = [
    {
      done: ownDomain === "verified" || (sandbox && identity !== undefined),
      title: "A domain",
      text: sandbox
        ? `Add your own domain, or begin with the sandbox domain, which works at once.${pending}`
        : `Add your domain, and its DNS records at your provider.${pending}`,
      path: "/domains",
      action: "Domains",
    },
    {
      done: identity !== undefined,
      title: "An identity",
      text: "An address that receives mail and that the agent answers from. A person has to approve each answer, unless you turn that off.",
      path: "/identities/new",
      action: "Create an identity",
    },
    {
      done: identity?.hasChannel === true,
      title: "An approval channel",
      text: "How a person is asked about each draft: by mail, Telegram or Slack.",
      path: identity ? `/identities/${identity.id}/approval` : "/identities/new",
      action: "Set a channel",
    },
    {
      done: reached,
      title: "A test",
      text: "Send a test notification, and check that it arrives.",
      path: identity ? `/identities/${identity.id}#test` : "/identities/new",
      action: "Send a test",
    },
    ...(keys === undefined
      ? []
      : [
          {
            done: keys > 0,
            title: "A key for the agent",
            text: "The agent reads mail and submits drafts with an API key. Choose “For an agent”: such a key cannot change settings.",
            path: "/settings/keys",
            action: "API keys",
          },
        ]),
  ];
  return steps.every(({ done }) => done) ? undefined : steps;
}
