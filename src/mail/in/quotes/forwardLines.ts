import { namesAddress, namesTime } from "./attribution.ts";

const maxLength = 200;

/** Matches a line of hyphens or the like, perhaps with words between, as mail programs write it above and below an earlier mail. */
const ruled = /^\s*([-_=*])\1{2,}(?:8<)?\s*(?:(\S.{0,160}?)\s*\1{2,}|\1*)\s*$/;
/** Matches nmh's line, which has hyphens before its words only. */
const begunByHyphens = /^\s*-{3,}\s*((?:End of )?Forwarded Messages?)\s*$/i;
const mostWords = 6;

/** Words for "forwarded", by language. */
const forwarded = new RegExp(
  [
    ...["forwarded", "weitergeleitet", "transf[ée]r[ée]", "réexpédié", "transmis", "reenvia[dt]", "encaminhad"],
    ...["inoltrat", "doorgestuurd", "videresendt", "vidarebefordrat", "välitetty", "edelleenlähetetty"],
    ...["przekazan", "przekazywan", "przesłan", "přeposlan", "předan", "preposlan", "továbbított", "redirecționat"],
    ...["transmis mai departe", "yönlendiril", "iletil", "προωθημέν", "пересла", "пересыла", "переадресова"],
    ...["перенаправлен", "препратен", "proslijeđen", "prosleđen", "прослеђен", "posredovan", "persiųst", "edastatud"],
    ...[
      "pārsūtīt",
      "転送",
      "转发",
      "轉寄",
      "轉發",
      "전달",
      "توجيه",
      "المحول",
      "הועבר",
      "ส่งต่อ",
      "chuyển tiếp",
      "terusan",
    ],
  ].join("|"),
  "iu",
);
/** Words for "begin", which some programs write without any rule: "Begin forwarded message:". */
const begin =
  /(?<!\p{L})(?:begin|beginn|start|anfang|début|inicio|inici|inizio|início|början|begynnelse|alkaa|alku|początek|začátek|začiatok|kezdete|kezdődik|început\p{L}*|başlangıcı|αρχή|έναρξη|начало|початок|početak|začetek|pradžia|algus)(?!\p{L})|開始|开始|開頭|시작|بداية|תחילת/iu;
const end =
  /(?<!\p{L})(?:end|ende|fin|fi|fine|fim|einde|slut|slutt|loppu|koniec|konec|vége|sfârșit\p{L}*|sonu|τέλος|конец|кінець|край|kraj|pabaiga|lõpp)(?!\p{L})|終わり|終了|结束|結束|끝|نهاية|סוף/iu;
/** Words for "original", by language: some programs write them above a forwarded mail too. */
const original =
  /origin[ae]l|ursprünglich|d'origine|oorspronkelijk|oprindelig|opprinnelig|ursprunglig|alkuperäinen|oryginaln|původní|pôvodn|eredeti|orijinal|αρχικό|исходн|оригинал|вихідн|元の|原始|원본|מקורית|الأصلية/iu;

/** What a mail program means by a line: below it an earlier mail begins, above it one ends, or any rule. */
export type ForwardLine = "earlier" | "end" | "rule";

/** Reads a line that a mail program may have put above or below an earlier mail; undefined for any other line. */
export function forwardLineOf(text: string): ForwardLine | undefined {
  if (text.length > maxLength) return undefined;
  const rule = ruled.exec(text);
  const words = rule ? rule[2] : begunByHyphens.exec(text)?.[1];
  if (words === undefined) return rule ? "rule" : colonLine(text);
  if (forwarded.test(words) || original.test(words)) return end.test(words) ? "end" : "earlier";
  const isShort = words.split(/[\s\p{P}]+/u).length <= mostWords;
  return isShort || namesAddress(words) || namesTime(words) ? "rule" : undefined;
}

/** Some programs write words and a colon. A sentence ("Here is the forwarded message:") is the writer's own. */
function colonLine(text: string): ForwardLine | undefined {
  if (!/[:：]\s*$/.test(text)) return undefined;
  const count = text.trim().split(/\s+/).length;
  const isMark = count <= 2 || (count <= mostWords && begin.test(text));
  return isMark && forwarded.test(text) ? "earlier" : undefined;
}
