import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { randomId } from '../../src/platform/random-id.ts';

const uuid = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

it('an id is a random UUID, on a runtime without Node too', () => {
  expect(randomId()).toMatch(uuid);
  expect(randomId()).not.toBe(randomId());
  const missing = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  try {
    expect(randomId()).toMatch(uuid);
  } finally {
    missing.mockRestore();
  }
});

it('on Node, Web Crypto is not loaded for it', () => {
  const file = join(import.meta.dirname, '../../src/platform/random-id.ts');
  const program = `
    const { randomId } = await import(${JSON.stringify(file)});
    console.log(randomId(), process.moduleLoadList.some((name) => name.includes('webcrypto')));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(stdout.trim().split(' ')).toEqual([expect.stringMatching(uuid), 'false']);
});
