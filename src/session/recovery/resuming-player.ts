import type { ResumedDriver } from '../../host/resumed.ts';
import type { Player } from '../../journal/replay/replay.ts';
import type { Observer } from '../../observe/observer.ts';
import type { SubAgents } from '../sub-agents/sub-agents.ts';
import type { Times } from '../wiring/observing.ts';

export type PlayedParts = {
  observer: Observer;
  times: Times;
  subSessions: { subAgents: SubAgents } | null;
  machine: { start(): void; readonly defect: unknown };
  /** Null for a session that is not resumed, which nothing plays. */
  resumed: ResumedDriver | null;
};

/** Plays a session that continues after its replay. */
export class ResumingPlayer implements Player {
  private readonly parts: PlayedParts;

  constructor(parts: PlayedParts) {
    this.parts = parts;
    parts.machine.start();
  }

  deliver: Player['deliver'] = (delivery) => this.parts.resumed?.replay.deliver(delivery);

  mark: Player['mark'] = (key, at) => this.parts.resumed?.replay.mark(key, at);

  step: Player['step'] = () => {
    const { resumed, machine } = this.parts;
    const isTaken = resumed?.replay.step() === true;
    return isTaken || machine.defect === undefined;
  };

  restate: Player['restate'] = (facts, at) => {
    const { observer, times } = this.parts;
    if (at !== null) times.deliveredAt = at;
    for (const fact of facts) observer.state(fact);
  };

  resight: Player['resight'] = (sighting, at) => {
    const { observer, subSessions } = this.parts;
    observer.resight(sighting, at);
    if (sighting.type === 'subAgent.ended') subSessions?.subAgents.restoreEnd(sighting.callId);
  };

  position: Player['position'] = () => this.parts.observer.position;

  moveTo: Player['moveTo'] = (position) => this.parts.observer.moveTo(position);
}
