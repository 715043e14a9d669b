import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

const files = readdirSync('examples').filter((file) => file.endsWith('.ts') && file !== 'model.ts');

describe('the examples', () => {
  it('are as many as the README says, and named in their own', () => {
    expect(readFileSync('README.md', 'utf8')).toContain(`has ${files.length} programs of at most 40 lines`);
    const readme = readFileSync('examples/README.md', 'utf8');
    for (const file of files) expect(readme).toContain(`[${file}](${file})`);
  });

  it.each(files)('%s has at most 40 lines, and prints what it says, without a key', async (file) => {
    const code = readFileSync(`examples/${file}`, 'utf8').trimEnd().split('\n');
    expect(code.length).toBeLessThanOrEqual(40);
    const { MODEL: _, ...env } = process.env;
    const child = spawn(process.execPath, [`examples/${file}`], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect(`// ${said.trimEnd().split('\n').at(-1)?.trim()}`, errors).toBe(code.at(-1));
  });
});
