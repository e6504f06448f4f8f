/** Converts lines and paragraphs of plain text to reduced HTML. */
export function htmlOfText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.trim() !== "")
    .map((paragraph) => `<p>${escapedText(paragraph.replace(/^\n|\n$/g, "")).replaceAll("\n", "<br>")}</p>`)
    .join("");
}

const escapedText = (text: string): string =>
  text.replace(/[&<>]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[character] ?? "");
