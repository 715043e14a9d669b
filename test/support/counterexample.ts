import fc from 'fast-check';

/**
 * Works like `fc.assert`, but reports the shrunk counterexample as a scenario to paste into `test/scenarios/`, and, if
 * the property's predicate is `recorded`, with the file that shows its session.
 */
export async function assertOrTell<T>(
  property: fc.IAsyncProperty<[T]>,
  { numRuns, scenario }: { numRuns: number; scenario: (counterexample: T) => string },
): Promise<void> {
  const details = await fc.check(property, { numRuns });
  if (!details.failed) return;
  const [counterexample] = details.counterexample ?? [];
  const text = counterexample === undefined ? '' : scenario(counterexample);
  const { errorInstance, seed, counterexamplePath } = details;
  const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  throw new Error(`${reason}\n\nseed ${seed}, path ${counterexamplePath}. As a scenario:\n\n${text}`, {
    cause: errorInstance,
  });
}

/** Returns the source of a scenario with these replies: omits undefined fields and rebuilds errors. */
export function scenarioOf(replies: readonly unknown[], definition: object): string {
  return `it('counterexample', async () => {
  const replies = ${source(replies)};
  const agent = defineAgent({ name: 'found', models: [rehearsalModel(replies)], tools: { search, guarded }, ...${source(definition)} });
  const { result } = await run({ agent });
  assertInvariants(result, { limits: agent.limits });
});`;
}

function source(value: unknown): string {
  if (value instanceof Error) {
    const { statusCode } = value as { statusCode?: number };
    const made = `new ${value.name}(${JSON.stringify(value.message)})`;
    return statusCode === undefined ? made : `Object.assign(${made}, { statusCode: ${statusCode} })`;
  }
  if (Array.isArray(value)) return `[${value.map(source).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return value === undefined ? 'undefined' : JSON.stringify(value);
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return `{ ${fields.map(([name, inner]) => `${name}: ${source(inner)}`).join(', ')} }`;
}
