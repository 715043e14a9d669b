import { describe, expect, it } from 'vitest';
import { allNodes, drawings } from '../graph/drawing.ts';
import { files, ruleTraces } from '../graph/trace.ts';

const ruleIds = new Set(ruleTraces().map(({ id }) => id));

describe.each(drawings())('the configuration of the $name machine', ({ root }) => {
  it('describes every state, nested ones too, and names its rules', () => {
    const states = allNodes(root).filter(({ kind }) => kind !== 'root');
    expect(states.length).toBeGreaterThan(3);
    expect(states.filter(({ description, rules }) => description === '' || rules.length === 0)).toEqual([]);
    expect(states.flatMap(({ rules }) => rules).filter((rule) => !ruleIds.has(rule))).toEqual([]);
  });
});

describe('the machine files', () => {
  const machines = files('machines').filter(({ path }) => /\.(machine|setup)\.ts$/.test(path));

  /** What a projection may be: an arrow function that returns fields of its argument, or a literal of such fields. */
  const projection = /^\(\{ (?:event|context)(?:, (?:event|context))? \}(?:: [^=]*?)?\) => (.*)$/s;
  const fields = /^[\w\s.,:'?(){}]*$/;

  it('pass on event fields only: no projection calls a function', () => {
    const found = machines.flatMap(({ path, text }) => [
      ...[...text.matchAll(/params: (\(\{[^\n]*\) => \([^\n]*\))/g)].map(([, body = '']) => ({ path, body })),
      ...[...text.matchAll(/^const of\w+ =\s*(?:<[^>]*>)?(\([\s\S]*?);$/gm)].map(([, body = '']) => ({ path, body })),
    ]);
    expect(found.length).toBeGreaterThan(20);
    const calls = found.filter(({ body }) => {
      const [, result = body] = projection.exec(body) ?? [];
      return !fields.test(result) || /\w\(/.test(result);
    });
    expect(calls).toEqual([]);
  });

  it('hold names, not logic: params are constants or projections, named or inline', () => {
    const params = machines.flatMap(({ path, text }) =>
      [...text.matchAll(/params: ([^\n]*)/g)].map(([, value = '']) => ({ path, value })),
    );
    const allowed = /^(?:of\w+|ended\('\w+'\)|lost\('?\w+'?\)|params|\{ [^()]*\}|\(\{ event \}\) => \(\{ [^()]*\}\))/;
    expect(params.filter(({ value }) => !allowed.test(value))).toEqual([]);
  });

  it('name the source of every actor, so that it can be heard: none is inline', () => {
    const sources = machines.flatMap(({ text }) => [
      ...[...text.matchAll(/\bsrc: ([^\n]*)/g)].map(([, source = '']) => source),
      ...[...text.matchAll(/spawn(?:Child)?\(([^\n]*)/g)].map(([, source = '']) => source),
    ]);
    expect(sources.length).toBeGreaterThan(10);
    expect(sources.filter((source) => !/^'\w+',/.test(source))).toEqual([]);
  });
});
