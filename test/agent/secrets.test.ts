import { describe, expect, it } from 'vitest';
import { runOverWire } from '../support/session.ts';

describe('user code', () => {
  it('S-5: every configured header value is a secret, and so is the part after its scheme', async () => {
    const { result, events, lines } = await runOverWire({
      script: [{ status: 401, error: { message: 'hunter2hunter2 and opensesame1 are refused' } }],
      definition: { settings: { headers: { authorization: 'Bearer hunter2hunter2', 'x-auth': 'opensesame1' } } },
    });
    const everything = JSON.stringify([result, events, lines]);
    expect(everything).not.toContain('hunter2hunter2');
    expect(everything).not.toContain('opensesame1');
  });
});
