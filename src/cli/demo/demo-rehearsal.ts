import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { counted } from '../../platform/text.ts';
import type { RehearsalRequest, RehearsedReply } from '../../testing/rehearsal-model.ts';

const mostFiles = 3;

/**
 * Returns the rules that stand in for a model in the demo. They misbehave three times, each time in a way seen in
 * practice, and follow the notice each time. The report contains only text that was read through the tools.
 */
export function demoRehearsal(): (request: RehearsalRequest) => RehearsedReply {
  return ({ index, prompt }) => {
    // A session that was resumed has made its mistakes.
    const isNew = !prompt.some(({ role }) => role === 'assistant');
    const reply = (isNew ? mistakes[index] : undefined) ?? sensibleReply(prompt);
    return { ...reply, usage: usageOf(prompt) };
  };
}

const list = 'list_directory';
const readFile = 'read_file';

const mistakes: RehearsedReply[] = [
  // An empty reply.
  {},
  // A tool that does not exist, and truncated input.
  {
    calls: [
      { name: 'ls', input: { dir: '.' } },
      { name: list, input: '{"path": ' },
    ],
  },
];

function sensibleReply(prompt: LanguageModelV4Prompt): RehearsedReply {
  const results = toolResults(prompt);
  const listing = results.find((result) => result.tool === list && !result.failed);
  if (listing === undefined) {
    return {
      calls: [
        { name: 'progress_report', input: { message: 'Listing the directory.' } },
        { name: list, input: { path: '.' } },
      ],
    };
  }
  const files = filesIn(listing.text);
  const wanted = [...files].sort(byInterest).slice(0, mostFiles);
  const read = results.filter((result) => result.tool === readFile);
  if (read.length === 0 && wanted.length > 0) {
    return { calls: wanted.map((path) => ({ name: readFile, input: { path } })) };
  }
  // Once, send text instead of a report.
  if (!JSON.stringify(prompt.at(-1)).includes('system notice: ')) return { text: chatter };
  return {
    calls: [{ name: 'final_report', input: { status: 'success', content: reportOn(listing.text, wanted, read) } }],
  };
}

const chatter = 'I have read the files and now know what they are about.';

type Result = { tool: string; text: string; failed: boolean };

function toolResults(prompt: LanguageModelV4Prompt): Result[] {
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) =>
          part.type === 'tool-result' && (part.output.type === 'text' || part.output.type === 'error-text')
            ? [{ tool: part.toolName, text: part.output.value, failed: part.output.type === 'error-text' }]
            : [],
        )
      : [],
  );
}

type Entry = { name: string; kind: string };

function entriesIn(listing: string): Entry[] {
  const { entries } = JSON.parse(listing);
  return Array.isArray(entries) ? entries : [];
}

function filesIn(listing: string): string[] {
  return entriesIn(listing).flatMap(({ name, kind }) =>
    kind === 'file' && /\.(md|txt|json|ts|js|py)$/.test(name) ? [name] : [],
  );
}

/** Sorts README files first, then Markdown, then other files; by name within each group. */
function byInterest(one: string, other: string): number {
  const rank = (name: string) => (/^readme/i.test(name) ? 0 : name.endsWith('.md') ? 1 : 2);
  return rank(one) - rank(other) || one.localeCompare(other);
}

function reportOn(listing: string, wanted: readonly string[], read: readonly Result[]): string {
  const entries = entriesIn(listing);
  const folders = entries.filter((entry) => entry.kind === 'folder');
  const lines = [
    `The directory holds ${counted(entries.length - folders.length, 'file')} and ${counted(folders.length, 'folder')}.`,
    ...(folders.length === 0 ? [] : ['', `Folders: ${folders.map(({ name }) => `\`${name}/\``).join(', ')}.`]),
    ...(wanted.length === 0 ? ['', 'None of its files are readable text.'] : ['']),
    ...wanted.map((name, index) => `- \`${name}\`: ${gist(read[index])}`),
  ];
  return lines.join('\n');
}

/** Returns the title and the first sentence of a text. */
function gist(result: Result | undefined): string {
  if (result === undefined || result.failed) return 'could not be read.';
  const lines = result.text.split('\n').map((line) => line.trim());
  const title = lines.find((line) => line.startsWith('# '))?.slice(2);
  const prose =
    lines.find((line) => line.length > 40 && !/^[#|`>{[-]/.test(line)) ?? lines.find((line) => line !== '') ?? '';
  const sentence = /^.*?[.!?](?=\s|$)/.exec(prose)?.[0] ?? prose.slice(0, 160);
  const plain = sentence.replaceAll('**', '');
  return title === undefined ? plain : `**${title}** - ${plain}`;
}

/** Estimates the tokens that a real model would use for the request. */
function usageOf(prompt: LanguageModelV4Prompt): NonNullable<RehearsedReply['usage']> {
  return { input: Math.ceil(JSON.stringify(prompt).length / 4), output: 40 };
}
