/** An identity's approvers are asked by this bot. `sealedToken`: as the identity has it. */
export type BotUse = {
  identityId: string;
  workspaceId: string;
  slot: "primary" | "secondary";
  botId: string;
  sealedToken: string;
};

/** `registered`: what Telegram was told last about this bot, in the words of the caller that told it. `former`: uses that have ended. */
export type KnownBot = {
  botId: string;
  registered: string | null;
  nextUpdate: number | null;
  uses: BotUse[];
  former: BotUse[];
};

/** A message of ours that asks a user for the reason of a rejection. */
export type Prompt = {
  botId: string;
  chat: string;
  messageId: string;
  userId: string;
  workspaceId: string;
  sealedToken: string;
};

/** Operational rows about bots, shared by all instances: made from the log, but for what Telegram was told and what it was asked. All throw Unavailable. */
export type BotRegistry = {
  /** These are the identity's uses from now on. Answers the bots that it uses or used. */
  setUses(identityId: string, uses: readonly BotUse[]): Promise<string[]>;
  find(botId: string): Promise<KnownBot | undefined>;
  setRegistered(botId: string, registered: string | null): Promise<void>;
  setNextUpdate(botId: string, nextUpdate: number | null): Promise<void>;
  /** Only a bot that nobody uses; false if somebody does. */
  forget(botId: string): Promise<boolean>;
  keepPrompt(prompt: Prompt): Promise<void>;
  findPrompt(at: Pick<Prompt, "botId" | "chat" | "messageId">): Promise<Prompt | undefined>;
  endPrompt(at: Pick<Prompt, "botId" | "chat" | "messageId">): Promise<void>;
};
