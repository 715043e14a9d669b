import { type Delivery, type Fact, type SessionCommand, userMessage } from '../../../machines/index.ts';
import type { MachineOwner } from '../../host/run-machine.ts';
import { messageOf, onRejection } from '../../input/errors.ts';
import type { Observer } from '../../observe/observer.ts';
import { redact } from '../../secrets/redact.ts';
import type { SubAgents } from '../sub-agents/sub-agents.ts';

export type SessionOwnerParts = {
  observer: Observer;
  secrets: readonly string[];
  times: { deliveredAt: number };
  onDelivery: ((delivery: Delivery) => void) | undefined;
  subAgents: SubAgents | null;
};

/** Passes a running machine's reports to the session's observer, sub-agents and journal. */
export class SessionOwner implements MachineOwner<SessionCommand, Fact> {
  private readonly parts: SessionOwnerParts;

  constructor(parts: SessionOwnerParts) {
    this.parts = parts;
  }

  takeFact(fact: Fact): void {
    const { observer, subAgents } = this.parts;
    observer.takeFact(fact);
    if (fact.type === 'session.stopping') subAgents?.stop();
  }

  delivering(delivery: Delivery): void {
    const { times, onDelivery } = this.parts;
    times.deliveredAt = delivery.at;
    if (this.parts.observer.isSilent) return;
    try {
      onRejection(onDelivery?.(delivery), (error) => this.userCodeFailed('onDelivery', error));
    } catch (error) {
      this.userCodeFailed('onDelivery', error);
    }
  }

  tooLate(command: SessionCommand): void {
    const { conversation } = this.parts.observer.folds;
    // Accepted during the last delivery, so it must not be lost.
    if (command.type === 'session.steer') conversation.messages.push(userMessage(command.text));
  }

  late(key: string): void {
    this.parts.observer.sight({ type: 'effect.late', key });
  }

  describeDefect(error: unknown): string {
    return redact(messageOf(error), this.parts.secrets);
  }

  userCodeFailed(name: string, error: unknown): void {
    this.parts.observer.userCodeFailed(name, error);
  }
}
