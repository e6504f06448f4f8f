/**
 * The first statement of every transaction on the work table. Nobody waits for the disk: what a crash of the server takes back is done again.
 * And an instance that is stopped in the middle holds its locks for 2 s at most, less than it takes until others are to go on with its work.
 */
export const beginsWork =
  "select set_config('synchronous_commit', 'off', true), set_config('idle_in_transaction_session_timeout', '2000', true)";
