import { expect } from "chai";
import fc from "fast-check";
import { readAddresses } from "#src/mail/in/addressList.ts";
import { canonicalAddress, sendableAddress } from "#streams/emailAddress/addrSpec.ts";

/** Returns the mailboxes of a field in the form "name <address>". */
const read = (value: string): string[] => readAddresses(value).map(({ name, address }) => `${name} <${address}>`);

describe("readAddresses", () => {
  const fields: Record<string, [value: string, mailboxes: string[]]> = {
    "an address alone": ["ada@customer.example", [" <ada@customer.example>"]],
    "a name without quotes that has a comma": [
      "Reinhardt, Anna <anna@customer.example>, Ben <ben@x.example>",
      ["Reinhardt, Anna <anna@customer.example>", "Ben <ben@x.example>"],
    ],
    "a name with two commas": ["Lund, Ada, Dr. <ada@x.example>", ["Lund, Ada, Dr. <ada@x.example>"]],
    "a comma inside an encoded name": [
      "=?utf-8?Q?Reinhardt,_J=C3=B6rg?= <j@x.example>",
      ["Reinhardt, Jörg <j@x.example>"],
    ],
    "a name in an old charset": ["=?cp850?Q?Gr=94=E1e?= <g@x.example>", ["Größe <g@x.example>"]],
    "a character parted between two words": [
      "=?utf-8?B?44GU6YA=?= =?utf-8?B?o+e1oQ==?= <j@x.example>",
      ["ご連絡 <j@x.example>"],
    ],
    "a link to write a mail": ["Ada <mailto:ada%40x.example?subject=Hi>", ["Ada <ada@x.example>"]],
    "a link in square brackets": ["[mailto:ada@x.example]", [" <ada@x.example>"]],
    "two brackets in a row": ["<<ada@x.example>", [" <ada@x.example>"]],
    "a name that is another address": [
      '"boss@bank.example" <mallory@evil.example>',
      ["boss@bank.example <mallory@evil.example>"],
    ],
    "the same without quotes": [
      "boss@bank.example <mallory@evil.example>",
      ["boss@bank.example <mallory@evil.example>"],
    ],
    "an encoded name that is another address": ["=?utf-8?q?boss=40bank.example?=", []],
    "a quoted name alone that holds an address": ['"boss@bank.example"', []],
    "one encoded word with name and address": ["=?utf-8?q?Anna_=3Canna=40x.example=3E?=", ["Anna <anna@x.example>"]],
    "one encoded word in base64": ["=?UTF-8?B?w4VzYSA8YXNhQHguZXhhbXBsZT4=?=", ["Åsa <asa@x.example>"]],
    "two encoded words with a name that has a comma": [
      "=?iso-8859-1?q?Lund,_=C5sa?=\r\n =?iso-8859-1?q?_=3Casa=40x.example=3E?=",
      ["Lund, Åsa <asa@x.example>"],
    ],
    "an encoded word in quotes": ['"=?utf-8?q?Anna_=3Canna=40x.example=3E?="', ["Anna <anna@x.example>"]],
    "name and address in quotes": ['"Anna \\"A\\" Lund <anna@x.example>"', ["Anna A Lund <anna@x.example>"]],
    "an encoded word that has an address, before another": [
      "=?utf-8?q?Boss_=3Cboss=40bank.example=3E?= <mallory@evil.example>",
      ["Boss <boss@bank.example> <mallory@evil.example>"],
    ],
    "an encoded word that has an address, and other words": [
      "=?utf-8?q?Boss_=3Cboss=40bank.example=3E?= of the bank",
      [],
    ],
    "a quoted local part": ['Odd <"odd user"@customer.example>', ['Odd <"odd user"@customer.example>']],
    "one without brackets": ['"odd user"@customer.example', [' <"odd user"@customer.example>']],
    "an at sign in quotes": ['<"a@b"@customer.example>, c@x.example', [' <"a@b"@customer.example>', " <c@x.example>"]],
    "a colon and a comma in quotes": ['<"a:,b"@customer.example>', [' <"a:,b"@customer.example>']],
    "needless quotes": ['Ada <"ada.lund"@customer.example>', ["Ada <ada.lund@customer.example>"]],
    "dots in a row, and at the end": [
      "Yui <yui..tanaka@mobile.example>, <yui.@mobile.example>, <.yui@mobile.example>",
      ["Yui <yui..tanaka@mobile.example>", " <yui.@mobile.example>", " <.yui@mobile.example>"],
    ],
    "quotes around dots in a row": ['<"yui..tanaka"@mobile.example>', [" <yui..tanaka@mobile.example>"]],
    "a scheme": ['"mailto:ada@x.example" <mailto:ada@x.example>', ["mailto:ada@x.example <ada@x.example>"]],
    "a scheme without brackets": [
      "mailto:ada@x.example, MAILTO:ben@x.example",
      [" <ada@x.example>", " <ben@x.example>"],
    ],
    "a route": ["<@relay.example,@other.example:ada@x.example>", [" <ada@x.example>"]],
    "blanks and a dot too many": ["< ada@x.example. >", [" <ada@x.example>"]],
    "a domain in its own letters": ["Ada <ada@bücher.example>", ["Ada <ada@bücher.example>"]],
    "a tag": ["Support <plus+billing@agents.example>", ["Support <plus+billing@agents.example>"]],
    "a name in brackets": ["ada@x.example (Ada Lund)", ["Ada Lund <ada@x.example>"]],
    "a comment beside a name": ["Ada (home) <ada@x.example>", ["Ada <ada@x.example>"]],
    semicolons: ["a@x.example; b@x.example", [" <a@x.example>", " <b@x.example>"]],
    groups: [
      "Desk: Ada <a@x.example>, b@x.example;, none:;, c@x.example",
      ["Ada <a@x.example>", " <b@x.example>", " <c@x.example>"],
    ],
    "a bracket that is not closed": ["Ada <ada@x.example", ["Ada <ada@x.example>"]],
    "single quotes around the address": ["'ada@x.example'", [" <ada@x.example>"]],
    "a name behind the address": ["ada@x.example Ada", ["Ada <ada@x.example>"]],
    nobody: ["undisclosed-recipients:;", []],
    "an address without its parts": ["<@x.example>, <ada@>, <>, ada, @", []],
  };
  for (const [what, [value, mailboxes]] of Object.entries(fields)) {
    it(`readAddresses reads a field with ${what}`, () => {
      expect(read(value)).to.deep.equal(mailboxes);
    });
  }

  it("addresses that were read from any field stay the same when they are read again", () => {
    const piece = fc.constantFrom(
      "a",
      "@",
      "b.example",
      '"',
      "\\",
      "<",
      ">",
      ",",
      ";",
      ":",
      " ",
      "(",
      ")",
      "=?utf-8?q?a=40b?=",
      ".",
      "mailto:",
      "ü",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        for (const { address } of readAddresses(pieces.join(""))) {
          expect(canonicalAddress(address)).to.equal(address);
          const sent = sendableAddress(address);
          if (sent !== null) expect(canonicalAddress(sent)).to.equal(address);
        }
      }),
    );
  });
});

describe("sendableAddress", () => {
  it("sendableAddress quotes a local part only where it needs quotes", () => {
    expect(
      ["ada@x.example", "yui..tanaka@x.example", "yui.@x.example", '"odd user"@x.example', "ada@bücher.example"].map(
        sendableAddress,
      ),
    ).to.deep.equal([
      "ada@x.example",
      '"yui..tanaka"@x.example',
      '"yui."@x.example',
      '"odd user"@x.example',
      "ada@bücher.example",
    ]);
  });

  it("sendableAddress returns null for addresses that no server accepts", () => {
    for (const address of [
      "ada@x..example",
      "ada@x/y",
      "ada[1]@x.example",
      "a\\b@x.example",
      '"a\nb"@x.example',
      "@x.example",
      "ada",
      "",
    ])
      expect(sendableAddress(address), address).to.equal(null);
  });
});
