/** An identity that uses this bot to ask its approvers. `sealedToken`: the encrypted token of the identity. */
export type BotUse = {
  identityId: string;
  workspaceId: string;
  slot: "primary" | "secondary";
  botId: string;
  sealedToken: string;
};

/** `registered`: the registration last sent to Telegram for this bot, in the caller's form. `former`: uses that have ended. */
export type KnownBot = {
  botId: string;
  registered: string | null;
  nextUpdate: number | null;
  uses: BotUse[];
  former: BotUse[];
};

/** Our message that asks a user for the reason of a rejection. */
export type Prompt = {
  botId: string;
  chat: string;
  messageId: string;
  userId: string;
  workspaceId: string;
  sealedToken: string;
};

/**
 * Operational rows about bots, shared by all instances. They derive from the log, except the registrations and prompts at Telegram. All
 * methods throw Unavailable.
 */
export type BotRegistry = {
  /** Replaces the identity's uses. Returns the bots that it uses or used. */
  setUses(identityId: string, uses: readonly BotUse[]): Promise<string[]>;
  find(botId: string): Promise<KnownBot | undefined>;
  setRegistered(botId: string, registered: string | null): Promise<void>;
  setNextUpdate(botId: string, nextUpdate: number | null): Promise<void>;
  /** Forgets a bot without uses; false if it has one. */
  forget(botId: string): Promise<boolean>;
  keepPrompt(prompt: Prompt): Promise<void>;
  findPrompt(at: Pick<Prompt, "botId" | "chat" | "messageId">): Promise<Prompt | undefined>;
  endPrompt(at: Pick<Prompt, "botId" | "chat" | "messageId">): Promise<void>;
};
