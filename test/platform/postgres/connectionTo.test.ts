import { expect } from "chai";
import { noStream } from "#src/eventStore/eventStore.ts";
import { createReader } from "#src/eventStore/postgres/reader.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { connectionTo } from "#src/platform/postgres/connectionTo.ts";
import { connectDatabase, type Database, type DatabaseUrls } from "#src/platform/postgres/database.ts";
import { prepareDatabase } from "#src/platform/postgres/prepare.ts";
import { newEvent, newStream } from "#test/eventStore/contract/support.ts";
import { createBareDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startService } from "#test/support/service.ts";

const settings = [
  "search_path",
  "plan_cache_mode",
  "jit",
  "statement_timeout",
  "idle_in_transaction_session_timeout",
  "application_name",
  "geqo",
] as const;
type Settings = Partial<Record<(typeof settings)[number], string>>;

const settingsOf = async (asked: Pick<Database, "query">): Promise<Settings> => {
  const columns = settings.map((name) => `current_setting('${name}') as ${name}`);
  return (await asked.query<Settings>(`select ${columns.join(", ")}`)).rows[0]!;
};

/** Ours, whatever the URL says. */
const ofReads: Settings = {
  ...{ search_path: "read", plan_cache_mode: "auto", jit: "off", application_name: "countersign" },
  ...{ statement_timeout: "8s", idle_in_transaction_session_timeout: "1min" },
};
const ofService: Settings = { ...ofReads, plan_cache_mode: "force_generic_plan" };
const ofOwner: Settings = { search_path: "read", statement_timeout: "0", application_name: "countersign owner" };

function withQuery({ serviceUrl, ownerUrl }: DatabaseUrls, query: string): DatabaseUrls {
  const extended = (url: string) => `${url}${url.includes("?") ? "&" : "?"}${query}`;
  return { serviceUrl: extended(serviceUrl), ownerUrl: extended(ownerUrl) };
}

describe("a URL of PostgreSQL with parameters", () => {
  let server: TestDatabase;
  before(async () => {
    server = await createBareDatabase();
  });
  after(() => server.drop());

  const against =
    "-c search_path=public -c plan_cache_mode=auto -c jit=on -c statement_timeout=1 -c application_name=other";
  const forms: [what: string, query: string, theirs: Settings][] = [
    ["no parameter", "", { geqo: "on" }],
    ["options", `options=${encodeURIComponent("-c geqo=off")}`, { geqo: "off" }],
    ["options with blanks as plus signs", "options=-c+geqo%3Doff+", { geqo: "off" }],
    ["options in the long form", "options=--geqo=off", { geqo: "off" }],
    ["options given twice", `options=-cgeqo%3Doff&options=${encodeURIComponent("-c jit=on")}`, { geqo: "off" }],
    ["options that contradict ours", `options=${encodeURIComponent(`${against} -c geqo=off`)}`, { geqo: "off" }],
    ["time limits and a name", "statement_timeout=1&query_timeout=1&application_name=other", { geqo: "on" }],
    ["all of them", `application_name=other&options=${encodeURIComponent(against)}&statement_timeout=1`, {}],
  ];
  for (const [what, query, theirs] of forms) {
    it(`${what}: every connection has its own settings, and the URL's others`, async () => {
      const urls = withQuery(server, query);
      expect(await prepareDatabase(urls)).to.include({ oneRole: false });
      const database = connectDatabase(urls);
      const store = createPostgresEventStore({ connectionString: urls.serviceUrl });
      try {
        expect(await settingsOf(database)).to.include({ ...ofService, ...theirs });
        // Its idle limit is shorter, and set for each connection.
        expect(await settingsOf(database.background)).to.include({
          ...{ ...ofService, idle_in_transaction_session_timeout: "3s" },
          ...theirs,
        });
        expect(await settingsOf(database.reads.ofAll)).to.include({ ...ofReads, ...theirs });
        expect(await settingsOf(database.owner)).to.include({ ...ofOwner, ...theirs });
        const stream = newStream();
        await store.append(stream, noStream, [newEvent()]);
        expect(await store.read(stream)).to.have.length(1);
        const names = await database.owner.query<{ name: string }>(
          "select distinct application_name as name from pg_stat_activity where datname = current_database() and application_name <> '' order by 1",
        );
        expect(names.rows.map(({ name }) => name)).to.deep.equal([
          "countersign",
          "countersign log reader",
          "countersign log writer",
          "countersign owner",
        ]);
      } finally {
        await store.close();
        await database.close();
      }
    });
  }

  it("the reads of the log are never compiled, and have no time limit of the URL", async () => {
    const query = "statement_timeout=1&options=-c%20jit%3Don%20-c%20statement_timeout%3D1";
    const { serviceUrl: connectionString } = withQuery(server, query);
    const reader = createReader({ connectionString, timeoutMs: 5_000, connections: 1, onRead: () => {} });
    expect(await settingsOf(reader.pool as never)).to.include({
      ...{ jit: "off", plan_cache_mode: "force_generic_plan", statement_timeout: "0" },
      application_name: "countersign log reader",
    });
    await reader.close();
  });

  it("the service starts on an empty database by URLs with options, and answers", async () => {
    const bare = await createBareDatabase();
    const query = "options=-c%20geqo%3Doff&statement_timeout=1&application_name=hosted";
    const service = await startService({ database: withQuery(bare, query) });
    expect((await fetch(`${service.url}/readyz`)).status).to.equal(200);
    await service.stop();
    await bare.drop();
  });

  it("a URL keeps host, user, password and encryption, and what a proxy in front of PostgreSQL reads in its options", () => {
    const url =
      "postgres://u%40x:p%2Fw%3F@[::1]:6432/d%20b?sslmode=verify-full&sslrootcert=/a%20b%2Bc&options=endpoint%3Dep-cool&statement_timeout=1";
    const { connectionString, options } = connectionTo(url, { options: "-c jit=off" });
    expect(connectionString).to.equal(
      "postgres://u%40x:p%2Fw%3F@[::1]:6432/d%20b?sslmode=verify-full&sslrootcert=%2Fa%20b%2Bc",
    );
    expect(options).to.equal("endpoint=ep-cool -c statement_timeout=0 -c jit=off");
  });
});
