import type pg from "pg";

/**
 * Settings of a connection to the server that the URL names. The URL's own `options` and parameters count too, but ours win: pg alone
 * would let the URL's parameters replace ours. Without a `statement_timeout` of ours a statement has none.
 */
export function connectionTo(url: string, ours: pg.PoolConfig): pg.PoolConfig {
  const server = new URL(url);
  const settings = {
    application_name: "countersign",
    statement_timeout: 0,
    query_timeout: 0,
    keepAlive: true,
    ...ours,
  };
  const theirs = server.searchParams.getAll("options");
  for (const name of ["options", ...Object.keys(settings)]) server.searchParams.delete(name);
  // A blank, which libpq does not read in its other form.
  server.search = server.search.replaceAll("+", "%20");
  // PostgreSQL takes the last of several values. It takes the limit in `settings`, if there is one, before any of these.
  const options = [...theirs, "-c statement_timeout=0", ours.options ?? ""].join(" ");
  return { ...settings, connectionString: server.href, options };
}
