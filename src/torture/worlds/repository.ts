import { numbered, recordOf, smallWorld } from '../small-world.ts';
import { Refused } from '../world.ts';

type Repository = {
  files: Record<string, string>;
  /** Their texts, oldest first. */
  commits: { message: string; files: Record<string, string> }[];
  issues: Record<string, { title: string; isOpen: boolean; comments: string[] }>;
  version: number;
};

const parts = ['parser', 'cache', 'router', 'theme'];

function begin(): Repository {
  return {
    files: Object.fromEntries(
      parts.flatMap((part) => [
        [`src/${part}.txt`, `${part}\nlimit = 10\n`],
        [`docs/${part}.txt`, `About the ${part}.\n`],
      ]),
    ),
    commits: [],
    issues: Object.fromEntries(
      parts.map((part) => [`bug-${part}`, { title: `The ${part} stops at 10`, isOpen: true, comments: [] }]),
    ),
    version: 1,
  };
}

const part = (index: number) => parts[index % parts.length] ?? 'parser';
const commit = (message: string) => ({ name: 'commit', input: { message } });
const raise = (name: string) => ({
  name: 'replace_text',
  input: { path: `src/${name}.txt`, old_text: 'limit = 10', new_text: 'limit = 20' },
});
const append = (path: string, text: string) => ({ name: 'append_text', input: { path, text } });

export const repository = smallWorld<Repository>({
  name: 'repository',
  instructions: 'You maintain a repository. Carry out what is asked, once, and say what you did.',
  begin,
  tools: {
    read_file: {
      description: 'Returns the text of a file.',
      input: { path: 'string' },
      run: (db, { path }) => ({ text: recordOf('file', db.files, path) }),
    },
    replace_text: {
      description: 'Replaces a text that stands once in a file.',
      input: { path: 'string', old_text: 'string', new_text: 'string' },
      run: (db, { path, old_text, new_text }) => {
        const pieces = recordOf('file', db.files, path).split(String(old_text));
        if (pieces.length !== 2) throw new Refused(`the text stands ${pieces.length - 1} times in ${path}`);
        db.files[String(path)] = pieces.join(String(new_text));
        return { changed: String(path) };
      },
    },
    append_text: {
      description: 'Adds a text at the end of a file.',
      input: { path: 'string', text: 'string' },
      run: (db, { path, text }) => {
        db.files[String(path)] = recordOf('file', db.files, path) + String(text);
        return { changed: String(path) };
      },
    },
    commit: {
      description: 'Records the files as they are.',
      input: { message: 'string' },
      run: (db, { message }) => ({
        number: db.commits.push({ message: String(message), files: { ...db.files } }),
      }),
    },
    comment: {
      description: 'Adds a comment to an issue.',
      input: { issue: 'string', text: 'string' },
      run: (db, { issue, text }) => ({ comments: recordOf('issue', db.issues, issue).comments.push(String(text)) }),
    },
    close_issue: {
      description: 'Closes an issue.',
      input: { issue: 'string' },
      run: (db, { issue }) => {
        recordOf('issue', db.issues, issue).isOpen = false;
        return { closed: String(issue) };
      },
    },
    publish: {
      description: 'Publishes the next version.',
      input: { notes: 'string' },
      run: (db) => {
        db.version += 1;
        return { version: db.version };
      },
    },
  },
  tasks: numbered('repository', [
    ...parts.map((name) => ({
      prompt: `Raise the limit of the ${name} to 20, commit it, and close bug-${name}.`,
      rounds: [
        [{ name: 'read_file', input: { path: `src/${name}.txt` } }],
        [raise(name)],
        [commit(`${name}: the limit is 20`)],
        [{ name: 'close_issue', input: { issue: `bug-${name}` } }],
      ],
      answer: `The limit of the ${name} is 20.`,
    })),
    ...parts.map((name, index) => ({
      prompt: `Add a line about the limit to the documents of the ${name} and the ${part(index + 1)}, in one commit.`,
      rounds: [
        [append(`docs/${name}.txt`, 'It has a limit.\n'), append(`docs/${part(index + 1)}.txt`, 'It has a limit.\n')],
        [commit('docs: the limits')],
      ],
      answer: 'Two documents have the line.',
    })),
    ...parts.map((name) => ({
      prompt: `Publish a version for bug-${name}: comment on it, publish, and close it.`,
      rounds: [
        [{ name: 'comment', input: { issue: `bug-${name}`, text: 'It comes with the next version.' } }],
        [{ name: 'publish', input: { notes: `Fixes bug-${name}.` } }],
        [{ name: 'close_issue', input: { issue: `bug-${name}` } }],
      ],
      answer: 'Version 2 is out.',
    })),
    ...parts.map((name, index) => ({
      prompt: `Raise the limits of all parts but the ${name} to 20, commit once, and comment on each of their issues.`,
      rounds: [
        parts.filter((one) => one !== name).map(raise),
        [commit('src: limits of 20')],
        parts
          .filter((one) => one !== name)
          .map((one) => ({ name: 'comment', input: { issue: `bug-${one}`, text: `Raised, ${index + 1}.` } })),
      ],
      answer: 'Three limits are 20.',
    })),
    ...parts.map((name) => ({
      prompt: `Fix the ${name} in two commits: the limit first, then its document. Then publish.`,
      rounds: [
        [raise(name)],
        [commit(`${name}: the limit is 20`)],
        [append(`docs/${name}.txt`, 'Its limit is 20.\n')],
        [commit(`docs: the limit of the ${name}`)],
        [{ name: 'publish', input: { notes: `The limit of the ${name} is 20.` } }],
      ],
      answer: 'Version 2 has both commits.',
    })),
  ]),
});
