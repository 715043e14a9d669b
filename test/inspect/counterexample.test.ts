import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import { readTape } from '../../src/journal/tape.ts';
import { assertInvariants, recorded, rehearsalModel } from '../../src/testing/index.ts';
import { blockIn, hasBrowser, launch, openFile } from '../support/pages.ts';
import { report } from '../support/session.ts';

const freshFile = () => join(mkdtempSync(join(tmpdir(), 'pawl-')), 'found', 'it.html');
const agentOf = (empty: number) =>
  defineAgent({
    name: 'stumbling',
    models: [rehearsalModel([...Array.from({ length: empty }, () => ({})), report()])],
    limits: { maxTurns: 2, maxRetries: 6 },
  });
const run = (empty: number, journal: Parameters<Parameters<typeof recorded>[0]>[0]) =>
  runSession(agentOf(empty), { prompt: 'Go.', journal, logger: false });

/** The promise of another bound than the session's own, which three empty replies break. */
const limits = { maxTurns: 1, maxRetries: 3 };

describe('S-8 B-2: a test that fails keeps its session', () => {
  it('shrunk, in a file that opens at the step where the promise is first broken; the error names both', async () => {
    const file = freshFile();
    const property = fc.asyncProperty(
      fc.integer({ min: 0, max: 5 }),
      recorded(async (journal, empty: number) => assertInvariants(await run(empty, journal), { limits }), {
        file,
        limits,
      }),
    );
    const told = fc.assert(property, { numRuns: 100 }).catch((error) => error.cause.message);
    const message = String(await told);
    expect(message).toContain('requests (4) <= maxTurns x maxRetries (3)');
    expect(message).toContain(`Session saved to ${file}. At step `);
    const html = readFileSync(file, 'utf8');
    const { microsteps, requests, told: facts } = new MicrostepReplay().play(readTape(blockIn(html, 'tape')));
    expect(requests).toHaveLength(4);
    const step = Number(/data-step="(\d+)"/.exec(html)?.[1]);
    expect(message).toContain(`At step ${step + 1}: requests (4) <= maxTurns x maxRetries (3).`);
    const startedBy = (one: number) =>
      facts.slice(0, microsteps[one]?.facts).filter((fact) => 'fact' in fact && fact.fact.type === 'attempt.started')
        .length;
    expect([startedBy(step - 1), startedBy(step)]).toEqual([3, 4]);
    if (!hasBrowser) return;
    const browser = await launch();
    const { page, misdeeds } = await openFile(browser, html);
    expect(await page.locator('.when').innerText()).toContain(`step ${step + 1} of ${microsteps.length}`);
    expect(await page.locator('.gaugetext').innerText()).toBe('requests 4 of 12');
    expect(await page.locator('.trouble').innerText()).toBe(
      `Broken at step ${step + 1}: requests (4) <= maxTurns x maxRetries (3).`,
    );
    expect(misdeeds).toEqual([]);
    await browser.close();
  });

  it('a test without fast-check keeps its session too; the file opens at the end if no promise is broken', async () => {
    const failing = recorded(async (journal) => {
      const { counters } = await run(1, journal);
      expect(counters.requests).toBe(7);
    });
    const { message } = await failing().catch((error) => error);
    const [, file = ''] = /Session saved to (\S+\.html)\.$/.exec(message) ?? [];
    expect(message).toContain('to be 7');
    expect(existsSync(file)).toBe(true);
    expect(readFileSync(file, 'utf8')).not.toContain('data-step');
  });

  it('a test fails that returns false or throws what cannot be changed; one that is skipped does not', async () => {
    const file = freshFile();
    const property = fc.asyncProperty(
      fc.integer(),
      recorded(
        async (journal, number: number) => {
          await run(0, journal);
          return number < 10;
        },
        { file },
      ),
    );
    const error = await fc.assert(property, { numRuns: 100 }).catch((reason) => reason);
    expect(String(error.cause.message)).toContain(`The test returned false.\nSession saved to ${file}.`);
    const timeout = recorded(
      async () => {
        throw new DOMException('timed out', 'TimeoutError');
      },
      { file },
    );
    const wrapped = await timeout().catch((reason) => reason);
    expect(wrapped.message).toContain('timed out\nNo session was recorded');
    expect(wrapped.cause).toBeInstanceOf(DOMException);
    const other = freshFile();
    const skipping = recorded(
      async (journal, number: number) => {
        await run(0, journal);
        fc.pre(number > 1_000_000);
      },
      { file: other },
    );
    await expect(skipping(1)).rejects.toThrow();
    expect(existsSync(other)).toBe(false);
  });

  it('a passing test writes no file; the error of a test without a session states that none was recorded', async () => {
    const file = freshFile();
    await recorded((journal) => run(0, journal), { file })();
    expect(existsSync(file)).toBe(false);
    expect(() => recorded(() => {}, { fiel: 'x' } as never)).toThrow('Unknown option `options.fiel`.');
    const without = recorded(() => Promise.reject(new Error('no')), { file });
    await expect(without()).rejects.toThrow('no\nNo session was recorded: pass `journal` to the session.');
  });
});
