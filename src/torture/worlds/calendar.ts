import { numbered, recordOf, smallWorld } from '../small-world.ts';
import { Refused } from '../world.ts';

type Calendar = {
  events: Record<string, { title: string; day: string; hour: number; guests: string[]; isOff: boolean }>;
  mails: { to: string; text: string }[];
};

const people = ['ida', 'jon', 'kim', 'lea'];
const days = ['2030-03-04', '2030-03-05', '2030-03-06', '2030-03-07'];

function begin(): Calendar {
  const events = people.flatMap((person, index) =>
    days.map((day, place) => [
      `${person}-${place + 1}`,
      { title: `${person}'s hour ${place + 1}`, day, hour: 9 + index, guests: [person], isOff: false },
    ]),
  );
  return { events: Object.fromEntries(events), mails: [] };
}

const person = (index: number) => people[index % people.length] ?? 'ida';
const day = (index: number) => days[index % days.length] ?? '2030-03-04';
const invite = (event: string, guest: string) => ({ name: 'invite', input: { event, guest } });
const mail = (to: string, text: string) => ({ name: 'send_mail', input: { to, text } });

export const calendar = smallWorld<Calendar>({
  name: 'calendar',
  instructions: 'You keep the calendar of a team. Carry out what is asked, once, and say what you did.',
  begin,
  tools: {
    list_day: {
      description: 'Returns the events of a day.',
      input: { day: 'string' },
      run: (db, { day }) =>
        Object.entries(db.events).flatMap(([id, event]) =>
          event.day === day && !event.isOff ? [{ id, title: event.title, hour: event.hour }] : [],
        ),
    },
    create_event: {
      description: 'Creates an event.',
      input: { title: 'string', day: 'string', hour: 'integer' },
      run: (db, { title, day, hour }) => {
        const event = `event-${Object.keys(db.events).length + 1}`;
        db.events[event] = { title: String(title), day: String(day), hour: Number(hour), guests: [], isOff: false };
        return { event };
      },
    },
    invite: {
      description: 'Adds a guest to an event. A guest who is added twice is on its list twice.',
      input: { event: 'string', guest: 'string' },
      run: (db, { event, guest }) => ({ guests: recordOf('event', db.events, event).guests.push(String(guest)) }),
    },
    move_event: {
      description: 'Moves an event by so many hours.',
      input: { event: 'string', hours: 'integer' },
      run: (db, { event, hours }) => {
        const found = recordOf('event', db.events, event);
        found.hour += Number(hours);
        return { hour: found.hour };
      },
    },
    cancel_event: {
      description: 'Calls an event off.',
      input: { event: 'string' },
      run: (db, { event }) => {
        const found = recordOf('event', db.events, event);
        if (found.isOff) throw new Refused(`${event} is off already`);
        found.isOff = true;
        return { off: String(event) };
      },
    },
    send_mail: {
      description: 'Sends a mail to a person.',
      input: { to: 'string', text: 'string' },
      run: (db, { to, text }) => ({ number: db.mails.push({ to: String(to), text: String(text) }) }),
    },
  },
  tasks: numbered('calendar', [
    ...people.map((_, index) => ({
      prompt: `Set up a review on ${day(index)} at ${14 + index} and invite ${person(index)} and ${person(index + 1)}.`,
      rounds: [
        [{ name: 'list_day', input: { day: day(index) } }],
        [{ name: 'create_event', input: { title: 'Review', day: day(index), hour: 14 + index } }],
        [invite('event-17', person(index)), invite('event-17', person(index + 1))],
      ],
      answer: 'The review is event-17, with two guests.',
    })),
    ...people.map((who, index) => ({
      prompt: `Move ${who}-${index + 1} two hours later and tell ${who} by mail.`,
      rounds: [
        [{ name: 'move_event', input: { event: `${who}-${index + 1}`, hours: 2 } }],
        [mail(who, 'Your hour is two hours later.')],
      ],
      answer: `Moved to ${11 + index} o'clock, and told.`,
    })),
    ...people.map((who, index) => ({
      prompt: `Call off everything that ${who} has, and write one mail to ${person(index + 1)} about it.`,
      rounds: [
        [1, 2, 3, 4].map((place) => ({ name: 'cancel_event', input: { event: `${who}-${place}` } })),
        [mail(person(index + 1), `${who} is away.`)],
      ],
      answer: 'Four events are off.',
    })),
    ...people.map((who, index) => ({
      prompt: `Everybody should come to ${who}-${index + 1}: invite the others, then mail each of them.`,
      rounds: [
        people.filter((one) => one !== who).map((one) => invite(`${who}-${index + 1}`, one)),
        people.filter((one) => one !== who).map((one) => mail(one, `Please come to ${who}-${index + 1}.`)),
      ],
      answer: 'Three are invited.',
    })),
    ...people.map((who, index) => ({
      prompt: `Replace ${who}-1 by two events on ${day(index + 1)}, at 8 and 18, and invite ${who} to both.`,
      rounds: [
        [{ name: 'cancel_event', input: { event: `${who}-1` } }],
        [{ name: 'create_event', input: { title: 'First half', day: day(index + 1), hour: 8 } }],
        [{ name: 'create_event', input: { title: 'Second half', day: day(index + 1), hour: 18 } }],
        [invite('event-17', who), invite('event-18', who)],
        [{ name: 'list_day', input: { day: day(index + 1) } }],
      ],
      answer: 'Replaced by event-17 and event-18.',
    })),
  ]),
});
