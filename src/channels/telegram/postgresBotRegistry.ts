import type { Database } from "#src/platform/postgres/database.ts";
import type { BotRegistry, BotUse, Prompt } from "./botRegistry.ts";

type BotRow = { registered: string | null; next_update: string | number | null };
type UseRow = BotUse & { ended: boolean };

export function postgresBotRegistry(database: Pick<Database, "query" | "transaction">): BotRegistry {
  return {
    setUses: (identityId, uses) =>
      database.transaction(async (tx) => {
        const botIds = [...new Set(uses.map(({ botId }) => botId))].sort();
        await tx.query(
          "insert into work.telegram_bots (bot_id) select unnest($1::text[]) on conflict (bot_id) do nothing",
          [botIds],
        );
        await tx.query("update work.telegram_bot_uses set ended = true where identity_id = $1", [identityId]);
        await tx.query(upsertUses, [JSON.stringify(uses)]);
        const { rows } = await tx.query<{ botId: string }>(
          'select distinct bot_id as "botId" from work.telegram_bot_uses where identity_id = $1',
          [identityId],
        );
        return rows.map(({ botId }) => botId);
      }),
    async find(botId) {
      const bots = await database.query<BotRow>(
        "select registered, next_update from work.telegram_bots where bot_id = $1",
        [botId],
      );
      const [row] = bots.rows;
      if (!row) return undefined;
      const { rows } = await database.query<UseRow>(selectUses, [botId]);
      const nextUpdate = row.next_update === null ? null : Number(row.next_update);
      const uses = rows.filter(({ ended }) => !ended);
      return { botId, registered: row.registered, nextUpdate, uses, former: rows.filter(({ ended }) => ended) };
    },
    async setRegistered(botId, registered) {
      await database.query("update work.telegram_bots set registered = $2 where bot_id = $1", [botId, registered]);
    },
    async setNextUpdate(botId, nextUpdate) {
      await database.query("update work.telegram_bots set next_update = $2 where bot_id = $1", [botId, nextUpdate]);
    },
    forget: (botId) =>
      database.transaction(async (tx) => {
        // An identity that begins to use it concurrently waits for this row lock.
        await tx.query("select 1 from work.telegram_bots where bot_id = $1 for update", [botId]);
        const { rows } = await tx.query("select 1 from work.telegram_bot_uses where bot_id = $1 and not ended", [
          botId,
        ]);
        if (rows.length > 0) return false;
        await tx.query("delete from work.telegram_bot_uses where bot_id = $1", [botId]);
        await tx.query("delete from work.telegram_bots where bot_id = $1", [botId]);
        return true;
      }),
    async keepPrompt({ botId, chat, messageId, userId, workspaceId, sealedToken }) {
      await database.query("delete from work.telegram_prompts where made_at < now() - interval '30 days'", []);
      await database.query(
        `insert into work.telegram_prompts (bot_id, chat_id, message_id, user_id, workspace_id, sealed_token)
         values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
        [botId, chat, messageId, userId, workspaceId, sealedToken],
      );
    },
    async findPrompt({ botId, chat, messageId }) {
      const { rows } = await database.query<Prompt>(
        `select bot_id as "botId", chat_id as chat, message_id as "messageId", user_id as "userId", workspace_id as "workspaceId",
           sealed_token as "sealedToken"
         from work.telegram_prompts where bot_id = $1 and chat_id = $2 and message_id = $3`,
        [botId, chat, messageId],
      );
      return rows[0];
    },
    async endPrompt({ botId, chat, messageId }) {
      await database.query("delete from work.telegram_prompts where bot_id = $1 and chat_id = $2 and message_id = $3", [
        botId,
        chat,
        messageId,
      ]);
    },
  };
}

const upsertUses = `
  insert into work.telegram_bot_uses (identity_id, slot, bot_id, workspace_id, sealed_token)
  select "identityId", slot, "botId", "workspaceId", "sealedToken"
  from json_to_recordset($1::json) as given ("identityId" uuid, slot text, "botId" text, "workspaceId" uuid, "sealedToken" text)
  on conflict (identity_id, slot, bot_id) do update set sealed_token = excluded.sealed_token, ended = false`;

const selectUses = `
  select identity_id as "identityId", workspace_id as "workspaceId", slot, bot_id as "botId", sealed_token as "sealedToken", ended
  from work.telegram_bot_uses where bot_id = $1 order by identity_id, slot`;
