/** What a key may be allowed to do, each with the words it has in the documentation. */
export const scopes = {
  "read:threads": "read threads, messages, drafts and the inbound ledger",
  "write:drafts": "submit, edit, approve and reject drafts, notify approvers again, change threads",
  "write:emails": "send drafts and mail",
  "write:approvals": "change how an identity that requires human approval is approved",
  "read:identities": "read identities and tasks",
  "write:identities": "create, change and delete identities, send test mail",
  "read:domains": "read domains",
  "write:domains": "add, verify and delete domains",
  "read:rules": "read rules and their evaluations",
  "write:rules": "create, change and delete rules",
  "read:billing": "read the subscription",
  "write:billing": "start checkout and portal sessions",
  "read:keys": "list API keys",
  "write:keys": "create and revoke API keys",
  "read:workspace": "read the workspace",
  "write:workspace": "change the workspace",
  "read:contacts": "read contacts",
  "write:contacts": "change contacts",
  "read:assistants": "read assistants",
  "write:assistants": "create, change and delete assistants",
  "read:webhooks": "read webhooks and their deliveries",
  "write:webhooks": "create, change and delete webhooks",
  "read:events": "read the event feed",
  "read:members": "list members and invitations",
  "write:members": "invite, change and remove members",
  "read:audit": "read histories, earlier states, differences and exports",
} as const;

/** What a key may be given. */
export type KeyScope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as KeyScope[];

/** What only people have, by their role: no key can be given these, and no route that needs one is answered over HTTP. */
export const peoplesScopes = {
  "decide:drafts": "approve, edit and reject drafts as a person, take an approval back, write replies",
} as const;

export type Scope = KeyScope | keyof typeof peoplesScopes;

/**
 * Scopes that a new key gets only if they are listed: each lets its holder widen what others may do, or tells who the people are. `first`: whether a workspace's first key has it
 * all the same.
 */
const byNameOnly: Partial<Record<KeyScope, { first: boolean }>> = {
  "write:approvals": { first: true },
  "write:keys": { first: true },
  "read:members": { first: false },
  "write:members": { first: false },
};

/** Their names, for the documentation. */
export const namedScopes = Object.keys(byNameOnly) as KeyScope[];

/** What a new key gets if nothing is named: of its maker's scopes, those that are not given by name alone. */
export const defaultScopes = (makers: readonly string[]): KeyScope[] =>
  allScopes.filter((scope) => makers.includes(scope) && byNameOnly[scope] === undefined);

/** What a workspace's first key gets; no other key creates that one. */
export const firstKeyScopes: readonly KeyScope[] = allScopes.filter((scope) => byNameOnly[scope]?.first !== false);
