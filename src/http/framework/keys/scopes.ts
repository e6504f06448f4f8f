/** Scopes that a key may have, with their description for the documentation. */
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

/** A scope that a key may have. */
export type KeyScope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as KeyScope[];

/** Scopes that only people have, through their role. No key can have them, and no HTTP route needs one. */
export const peoplesScopes = {
  "decide:drafts": "approve, edit and reject drafts as a person, take an approval back, write replies",
} as const;

export type Scope = KeyScope | keyof typeof peoplesScopes;

/**
 * Scopes that a new key gets only if they are listed: each of them lets its holder extend the rights of others, or read the list of
 * members. `first`: true if a workspace's first key gets the scope anyway.
 */
const byNameOnly: Partial<Record<KeyScope, { first: boolean }>> = {
  "write:approvals": { first: true },
  "write:keys": { first: true },
  "read:members": { first: false },
  "write:members": { first: false },
};

/** Names of these scopes, for the documentation. */
export const namedScopes = Object.keys(byNameOnly) as KeyScope[];

/** Returns the scopes of a new key if none are listed: those of the creator's key, except the ones that must be listed. */
export const defaultScopes = (makers: readonly string[]): KeyScope[] =>
  allScopes.filter((scope) => makers.includes(scope) && byNameOnly[scope] === undefined);

/** Scopes of a workspace's first key, which no other key creates. */
export const firstKeyScopes: readonly KeyScope[] = allScopes.filter((scope) => byNameOnly[scope]?.first !== false);
