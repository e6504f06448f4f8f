/** Possible harm of opening a file. */
export type FileDanger = "program" | "script" | "page" | "shortcut" | "macros" | "oldOffice" | "archive" | "diskImage";

/** A kind of file: its name in words, and its extensions (without a dot) and media types. */
export type FileKind = {
  readonly name: string;
  readonly endings: readonly string[];
  readonly types: readonly string[];
  readonly danger?: FileDanger;
  /** True if the bytes are text: a file detected as another kind of text does not contradict the declared type. */
  readonly isText?: true;
  /** True if the bytes of this kind are always recognised: a file that is not recognised is of another kind. */
  readonly isAlwaysKnown?: true;
};

const words = (text: string): string[] => text.split(" ").filter(Boolean);

const office = "application/vnd.openxmlformats-officedocument";
const zipped = "application/vnd.oasis.opendocument";

const of = (name: string, endings: string, types: string): FileKind => ({
  name,
  endings: words(endings),
  types: words(types),
});
/** Marks a kind as dangerous. */
const dangerous = (kind: FileKind, danger: FileDanger): FileKind => ({ ...kind, danger });
const known = (kind: FileKind): FileKind => ({ ...kind, isAlwaysKnown: true });
const written = (kind: FileKind): FileKind => ({ ...kind, isText: true });

const word = known(
  of("Word document", "docx dotx", `${office}.wordprocessingml.document ${office}.wordprocessingml.template`),
);
const excel = known(
  of("Excel workbook", "xlsx xltx", `${office}.spreadsheetml.sheet ${office}.spreadsheetml.template`),
);
const powerPoint = known(
  of(
    "PowerPoint presentation",
    "pptx potx ppsx",
    `${office}.presentationml.presentation ${office}.presentationml.template ${office}.presentationml.slideshow`,
  ),
);
export const macroFile: FileKind = dangerous(
  of(
    "Office file with macros",
    "docm dotm xlsm xltm xlsb xlam pptm potm ppsm ppam sldm",
    "application/vnd.ms-word.document.macroenabled.12 application/vnd.ms-word.template.macroenabled.12 application/vnd.ms-excel.sheet.macroenabled.12 application/vnd.ms-excel.template.macroenabled.12 application/vnd.ms-excel.sheet.binary.macroenabled.12 application/vnd.ms-excel.addin.macroenabled.12 application/vnd.ms-powerpoint.presentation.macroenabled.12 application/vnd.ms-powerpoint.template.macroenabled.12 application/vnd.ms-powerpoint.slideshow.macroenabled.12",
  ),
  "macros",
);

/** Formats whose bytes are a ZIP archive, so a ZIP archive of unknown content does not contradict them. */
const packed: FileKind[] = [
  word,
  excel,
  powerPoint,
  macroFile,
  of(
    "OpenDocument file",
    "odt ods odp odg ott ots otp otg",
    `${zipped}.text ${zipped}.spreadsheet ${zipped}.presentation ${zipped}.graphics`,
  ),
  known(of("electronic book", "epub", "application/epub+zip")),
  dangerous(of("Java program", "jar war", "application/java-archive"), "program"),
  dangerous(of("Android program", "apk xapk", "application/vnd.android.package-archive"), "program"),
  dangerous(of("iPhone program", "ipa", ""), "program"),
  dangerous(of("Windows program package", "appx msix appxbundle msixbundle nupkg vsix", ""), "program"),
  dangerous(
    of("browser extension", "xpi crx", "application/x-xpinstall application/x-google-chrome-extension"),
    "program",
  ),
];

export const zipArchive: FileKind = dangerous(
  known(
    of(
      "ZIP archive",
      `zip zipx kmz 3mf ${packed.flatMap(({ endings }) => endings).join(" ")}`,
      `application/zip application/x-zip-compressed ${packed.flatMap(({ types }) => types).join(" ")}`,
    ),
  ),
  "archive",
);

/** A ZIP archive whose directory was read and that is none of these documents. */
export const plainZip: FileKind = {
  ...zipArchive,
  endings: ["zip", "zipx", "kmz", "3mf", ...packed.filter(({ danger }) => danger).flatMap(({ endings }) => endings)],
  types: ["application/zip", "application/x-zip-compressed"],
};

/** Returns the Office document type of a ZIP archive with these names in it. */
export function packedKind(names: readonly string[]): FileKind | undefined {
  if (!names.includes("[Content_Types].xml")) return undefined;
  const holds = (folder: string) => names.some((name) => name.startsWith(folder));
  return holds("word/") ? word : holds("xl/") ? excel : holds("ppt/") ? powerPoint : undefined;
}

/** Kinds that the service detects itself because the library does not. */
export const webPage: FileKind = dangerous(
  written(of("web page", "html htm xhtml xht shtml mht mhtml", "text/html application/xhtml+xml multipart/related")),
  "page",
);
export const svgPicture: FileKind = dangerous(written(of("SVG picture", "svg svgz", "image/svg+xml")), "page");
export const script: FileKind = dangerous(
  written(
    of(
      "script",
      "bat cmd ps1 ps1xml ps2 ps2xml psc1 psc2 psm1 psd1 vbs vbe vb js jse mjs cjs ws wsf wsc wsh sct hta sh bash zsh csh ksh fish command py pyw rb pl php phar lua tcl applescript awk scf inf reg msc ahk au3 action workflow jnlp",
      "application/javascript text/javascript application/x-javascript application/ecmascript application/x-sh text/x-shellscript application/x-shellscript application/x-csh text/x-python application/x-python-code application/x-perl text/x-perl application/x-php application/hta text/vbscript application/x-bat application/x-powershell application/x-ms-regedit application/x-java-jnlp-file",
    ),
  ),
  "script",
);
export const shortcut: FileKind = dangerous(
  written(
    of(
      "shortcut",
      "lnk url website webloc desktop alias library-ms search-ms searchconnector-ms settingcontent-ms appref-ms rdp",
      "application/x-ms-shortcut application/x.ms.shortcut application/x.apple.alias application/internet-shortcut application/x-mswinurl application/x-desktop",
    ),
  ),
  "shortcut",
);
export const plainText: FileKind = written(
  of(
    "text",
    "txt text log csv tsv md json xml yaml yml ics ical vcf vtt srt css ini conf sql tex eml xsd ndjson asc",
    "text/plain text/csv text/tab-separated-values text/markdown application/json text/xml application/xml application/yaml text/yaml text/calendar text/vcard text/x-vcard text/vtt text/css text/x-log message/rfc822 application/pgp-signature application/pgp-keys",
  ),
);
export const diskImage: FileKind = dangerous(
  of(
    "disk image",
    "iso img vhd vhdx dmg udf vmdk wim toast",
    "application/x-apple-diskimage application/x-iso9660-image application/x-cd-image application/x-raw-disk-image application/x-virtualbox-vhd",
  ),
  "diskImage",
);
export const oldOffice: FileKind = dangerous(
  known(
    of(
      "older Office file",
      "doc dot wiz xls xlt xla xlw ppt pot pps ppa vsd vst pub mpp msg msi msp",
      "application/x-cfb application/msword application/vnd.ms-excel application/vnd.ms-powerpoint application/vnd.visio application/vnd.ms-outlook application/vnd.ms-project application/x-mspublisher",
    ),
  ),
  "oldOffice",
);
export const program: FileKind = dangerous(
  of(
    "program",
    "exe com scr pif cpl dll ocx sys drv msi msp mst application gadget app pkg mpkg deb rpm run elf so dylib class xbap air swf wasm xll osx appimage flatpakref snap mobileconfig scpt pyc pyz",
    "application/x-msdownload application/x-dosexec application/vnd.microsoft.portable-executable application/x-msdos-program application/x-executable application/x-elf application/x-sharedlib application/x-mach-binary application/java-vm application/x-shockwave-flash application/wasm application/x-deb application/x-rpm application/x-msi application/vnd.debian.binary-package",
  ),
  "program",
);

/** Every kind that is known by name. An extension of two kinds belongs to the first. */
export const kinds: readonly FileKind[] = [
  program,
  script,
  shortcut,
  webPage,
  svgPicture,
  ...packed,
  oldOffice,
  diskImage,
  zipArchive,
  plainText,
  dangerous(
    of(
      "archive",
      "rar 7z tar gz tgz tar.gz bz2 tbz tbz2 xz txz zst z lz lz4 lzh lha arj ace cab ar cpio asar",
      "application/vnd.rar application/x-rar-compressed application/x-rar application/x-7z-compressed application/x-tar application/gzip application/x-gzip application/x-bzip2 application/x-xz application/zstd application/x-compress application/x-lzip application/x-lz4 application/x-lzh-compressed application/x-arj application/x-ace-compressed application/vnd.ms-cab-compressed application/x-unix-archive application/x-cpio application/x-asar",
    ),
    "archive",
  ),
  dangerous(of("Windows help file", "chm hlp", "application/vnd.ms-htmlhelp"), "program"),
  dangerous(of("Excel query", "iqy dqy oqy rqy slk odc", ""), "macros"),
  dangerous(
    of(
      "Access database",
      "mdb accdb accde ade adp mde",
      "application/msaccess application/vnd.ms-access application/x-msaccess",
    ),
    "macros",
  ),
  dangerous(of("OneNote file", "one onepkg", "application/onenote application/msonenote"), "macros"),
  known(of("PDF document", "pdf", "application/pdf application/x-pdf")),
  of("RTF document", "rtf", "application/rtf text/rtf"),
  of("PostScript document", "ps eps ai", "application/postscript application/eps"),
  known(of("PNG picture", "png apng", "image/png image/apng image/x-png")),
  known(of("JPEG picture", "jpg jpeg jpe jfif", "image/jpeg image/jpg image/pjpeg")),
  known(of("GIF picture", "gif", "image/gif")),
  known(of("WebP picture", "webp", "image/webp")),
  of("BMP picture", "bmp dib", "image/bmp image/x-ms-bmp"),
  of("TIFF picture", "tif tiff", "image/tiff"),
  of("HEIC picture", "heic heif avif", "image/heic image/heif image/avif image/heic-sequence image/heif-sequence"),
  of("icon", "ico cur", "image/x-icon image/vnd.microsoft.icon"),
  of("Photoshop picture", "psd", "image/vnd.adobe.photoshop"),
  of(
    "sound",
    "mp3 mp2 mp1 m4a m4b aac wav ogg oga opus flac aif aiff amr mid",
    "audio/mpeg audio/mp4 audio/x-m4a audio/aac audio/wav audio/x-wav audio/ogg audio/flac audio/aiff audio/amr audio/midi application/ogg",
  ),
  of(
    "film",
    "mp4 m4v mov avi mkv webm mpg mpeg 3gp 3g2 wmv asf flv ogv",
    "video/mp4 video/x-m4v video/quicktime video/x-msvideo video/vnd.avi video/matroska video/x-matroska video/webm video/mpeg video/3gpp video/3gpp2 video/x-ms-wmv video/x-ms-asf application/vnd.ms-asf video/x-flv video/ogg",
  ),
  of(
    "font",
    "ttf otf ttc woff woff2 eot",
    "font/ttf font/otf font/collection font/woff font/woff2 application/vnd.ms-fontobject",
  ),
];

/** Returns the kind for an extension (lower case, without its dot). */
export const kindOfEnding = (ending: string): FileKind | undefined => byEnding.get(ending);

/** Returns the kind for a media type; parameters are ignored. `application/octet-stream` has none. */
export const kindOfType = (type: string): FileKind | undefined =>
  byType.get((type.split(";")[0] ?? "").trim().toLowerCase());

/** Returns the kind from this table for the library's result, or a new one if the table has none. */
export const kindOfFound = ({ ending, mediaType }: { ending: string; mediaType: string }): FileKind =>
  byType.get(mediaType.toLowerCase()) ?? byEnding.get(ending) ?? of(mediaType, ending, mediaType);

const firstOf = (keys: (kind: FileKind) => readonly string[]): Map<string, FileKind> => {
  const found = new Map<string, FileKind>();
  for (const kind of kinds) for (const key of keys(kind)) if (!found.has(key)) found.set(key, kind);
  return found;
};
const byEnding = firstOf(({ endings }) => endings);
const byType = firstOf(({ types }) => types);
