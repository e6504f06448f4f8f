import type { TransactionOptions } from "#src/postgres/database.ts";

/**
 * How every transaction on the work table begins. None waits for the disk: what a crash of the server takes back is done again. And an instance
 * that is stopped in the middle holds its locks for 2 s at most, less than it takes until others continue its work.
 */
export const ofWork: TransactionOptions = {
  settings: { synchronous_commit: "off", idle_in_transaction_session_timeout: "2000" },
  recurring: true,
};
