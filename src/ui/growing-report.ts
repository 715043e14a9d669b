import { parsePartialJson } from 'ai';
import type { Json } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import { finalReportName } from '../vocabulary/built-ins.ts';

/** The report of a session as its final_report call grows, folded over the events of the session itself. */
export class GrowingReport {
  private text = '';
  private part = '';
  private nextLength = 0;

  /** Returns what there is of the report; undefined if this event adds nothing that can be read. */
  async takeEvent(event: SessionEvent): Promise<Json | undefined> {
    if (event.path.length > 0) return undefined;
    if (event.type !== 'model.delta' || event.toolName !== finalReportName) return undefined;
    const part = `${event.turn}.${event.attempt}.${event.part}`;
    if (part !== this.part) [this.part, this.text, this.nextLength] = [part, '', 0];
    this.text += event.delta;
    // Reading it at every delta would take time by the square of its length.
    if (this.text.length < this.nextLength) return undefined;
    this.nextLength = Math.ceil(this.text.length * 1.05);
    const { value } = await parsePartialJson(this.text);
    return typeof value === 'object' && value !== null && 'content' in value ? (value.content as Json) : undefined;
  }
}
