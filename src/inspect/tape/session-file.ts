import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { notedSecrets } from '../../agent/secrets.ts';
import { check } from '../../input/check.ts';
import { text, texts } from '../../input/shapes.ts';
import { isDelta } from '../../journal/entries.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { tapeOf } from '../../journal/tape.ts';
import { escapedHtml, htmlDocument, policyHash } from '../../platform/node-only/html.ts';
import { environmentSecrets } from '../../secrets/credentials.ts';
import { redact } from '../../secrets/redact.ts';
import { icon, pageFile } from './page-file.ts';
import { Redactor } from './redacted.ts';

export type SessionFileOptions = {
  /**
   * Texts that the file must not hold, in addition to the secrets of this process's agents and of its environment, and to
   * those that are recognized by pattern (S-5).
   */
  secrets?: readonly string[];
  /** The step that the page opens at, from 0; default: the last. */
  step?: number;
  /** A sentence that the page shows at its top, such as what was broken at that step. */
  note?: string;
};

const aStep = 'an integer of at least 0';
const optionsSchema = z.strictObject({
  secrets: texts.optional(),
  step: z.int({ error: aStep }).min(0, { error: aStep }).optional(),
  note: text.optional(),
} satisfies Record<keyof SessionFileOptions, z.ZodType>);

const entriesSchema = z.array(z.looseObject({}), {
  error: 'the entries of a session, as `exportSession` returns them',
});

/** Unpacks the page's script, which is allowed by its own hash. */
const start = `(async () => {
  const binary = atob(document.getElementById('packed').textContent);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  const policy = globalThis.trustedTypes?.createPolicy('pawl-start', { createScript: (code) => code });
  const script = document.createElement('script');
  script.id = 'script';
  script.textContent = policy === undefined ? text : policy.createScript(text);
  document.body.append(script);
})();`;

/**
 * Returns a session as one HTML file with its viewer, which needs no server and no network: the page runs the machines
 * over the entries. Secrets are taken out first. Throws `invalid_options`; `invalid_journal` for entries that
 * cannot be played; `machines_changed` for those of other machines (D-6).
 */
export function sessionFile(entries: readonly JournalEntry[], options: SessionFileOptions = {}): string {
  const { secrets = [], step, note } = check(optionsSchema, options, 'options', 'invalid_options');
  check(entriesSchema, entries, 'entries', 'invalid_options');
  const known = [...secrets, ...notedSecrets(), ...environmentSecrets(process.env)];
  const redactor = new Redactor(() => known);
  // The page takes a reply from its delivery; it shows no pieces of one.
  const clean = redactor.takeEntries(entries).filter((entry) => !isDelta(entry));
  const tape = tapeOf(clean);
  const [script, style, pictures] = [pageFile('page.js'), pageFile('page.css'), pageFile('pictures.json')];
  const policy = [
    "default-src 'none'",
    `script-src '${policyHash(start)}' '${policyHash(script)}'`,
    `style-src '${policyHash(style)}'`,
    'worker-src blob:',
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types pawl-start pawl',
  ].join('; ');
  const [first] = clean;
  const title = first?.type === 'started' ? first.head.agent : first?.type === 'run' ? first.head.input.run : 'session';
  const body = `<script type="application/gzip+base64" id="pictures">${packed(pictures)}</script>
<script type="application/gzip+base64" id="tape"${step === undefined ? '' : ` data-step="${step}"`}${note === undefined ? '' : ` data-note="${escapedHtml(redact(note, known))}"`} data-redacted="${redactor.changed}">${packed(tape)}</script>
<script type="application/gzip+base64" id="packed">${packed(script)}</script>
<script>${start}</script>`;
  return htmlDocument({ title: `${title} · Pawl`, policy, style, head: `${icon}\n`, body });
}

function packed(text: string): string {
  return gzipSync(text, { level: 9 }).toString('base64');
}
