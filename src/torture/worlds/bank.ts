import { numbered, recordOf, smallWorld } from '../small-world.ts';
import { Refused } from '../world.ts';

type Bank = {
  accounts: Record<string, { owner: string; cents: number; isOpen: boolean }>;
  bills: Record<string, { owner: string; payee: string; cents: number; isPaid: boolean }>;
  transfers: { from: string; to: string; cents: number; memo: string }[];
};

const owners = ['ada', 'ben', 'cid', 'dora'];
const payees = ['power', 'water', 'rent', 'phone'];

function begin(): Bank {
  const accounts = owners.flatMap((owner, index) => [
    [`${owner}-everyday`, { owner, cents: 100_000 + 7_311 * index, isOpen: true }] as const,
    [`${owner}-savings`, { owner, cents: 500_000 + 911 * index, isOpen: true }] as const,
  ]);
  const bills = owners.flatMap((owner, index) =>
    payees.map(
      (payee, place) =>
        [`${owner}-${payee}`, { owner, payee, cents: 2_000 + 1_313 * place + 17 * index, isPaid: false }] as const,
    ),
  );
  return { accounts: Object.fromEntries(accounts), bills: Object.fromEntries(bills), transfers: [] };
}

function open(bank: Bank, id: unknown) {
  const account = recordOf('account', bank.accounts, id);
  if (!account.isOpen) throw new Refused(`${id} is closed`);
  return account;
}

function take(bank: Bank, id: unknown, cents: number) {
  const account = open(bank, id);
  if (cents <= 0) throw new Refused('the amount must be more than 0');
  if (account.cents < cents) throw new Refused(`${id} has ${account.cents} cents`);
  account.cents -= cents;
}

export const bank = smallWorld<Bank>({
  name: 'bank',
  instructions: 'You are a clerk of a bank. Amounts are in cents. Carry out what is asked, once, and say what you did.',
  begin,
  tools: {
    get_account: {
      description: 'Returns the owner and the balance of an account.',
      input: { account: 'string' },
      run: (db, { account }) => ({ ...open(db, account) }),
    },
    list_bills: {
      description: 'Returns the bills of an owner that are not paid.',
      input: { owner: 'string' },
      run: (db, { owner }) =>
        Object.entries(db.bills).flatMap(([id, bill]) =>
          bill.owner === owner && !bill.isPaid ? [{ id, cents: bill.cents }] : [],
        ),
    },
    transfer: {
      description: 'Moves money from one account to another.',
      input: { from: 'string', to: 'string', cents: 'integer', memo: 'string' },
      run: (db, { from, to, cents, memo }) => {
        const target = open(db, to);
        take(db, from, Number(cents));
        target.cents += Number(cents);
        db.transfers.push({ from: String(from), to: String(to), cents: Number(cents), memo: String(memo) });
        return { number: db.transfers.length };
      },
    },
    pay_bill: {
      description: 'Pays a bill from an account. A bill that is paid again is paid again.',
      input: { bill: 'string', account: 'string' },
      run: (db, { bill, account }) => {
        const found = recordOf('bill', db.bills, bill);
        take(db, account, found.cents);
        found.isPaid = true;
        return { paid: found.cents };
      },
    },
    close_account: {
      description: 'Closes an account that is empty.',
      input: { account: 'string' },
      run: (db, { account }) => {
        const found = open(db, account);
        if (found.cents !== 0) throw new Refused(`${account} still has ${found.cents} cents`);
        found.isOpen = false;
        return { closed: String(account) };
      },
    },
  },
  tasks: numbered('bank', [
    ...owners.map((owner, index) => ({
      prompt: `Move ${5_000 + 100 * index} cents from ${owner}'s savings to the everyday account.`,
      rounds: [
        [{ name: 'get_account', input: { account: `${owner}-savings` } }],
        [
          {
            name: 'transfer',
            input: { from: `${owner}-savings`, to: `${owner}-everyday`, cents: 5_000 + 100 * index, memo: 'top up' },
          },
        ],
      ],
      answer: `Moved ${5_000 + 100 * index} cents.`,
    })),
    ...owners.map((owner) => ({
      prompt: `Pay all bills of ${owner} from the everyday account.`,
      rounds: [
        [{ name: 'list_bills', input: { owner } }],
        payees.map((payee) => ({
          name: 'pay_bill',
          input: { bill: `${owner}-${payee}`, account: `${owner}-everyday` },
        })),
        [{ name: 'get_account', input: { account: `${owner}-everyday` } }],
      ],
      answer: 'Four bills are paid.',
    })),
    ...owners.map((owner, index) => {
      const cents = 500_000 + 911 * index;
      return {
        prompt: `Close ${owner}'s savings account. What it holds goes to the everyday account.`,
        rounds: [
          [{ name: 'get_account', input: { account: `${owner}-savings` } }],
          [
            {
              name: 'transfer',
              input: { from: `${owner}-savings`, to: `${owner}-everyday`, cents, memo: 'closing' },
            },
          ],
          [{ name: 'close_account', input: { account: `${owner}-savings` } }],
        ],
        answer: `Closed, after ${cents} cents were moved.`,
      };
    }),
    ...owners.map((owner, index) => {
      const others = owners.filter((other) => other !== owner);
      const cents = 1_200 + 10 * index;
      return {
        prompt: `${owner} owes each of ${others.join(', ')} ${cents} cents for dinner. Pay them from the everyday account.`,
        rounds: [
          others.map((other) => ({
            name: 'transfer',
            input: { from: `${owner}-everyday`, to: `${other}-everyday`, cents, memo: 'dinner' },
          })),
          [{ name: 'get_account', input: { account: `${owner}-everyday` } }],
        ],
        answer: `Paid ${cents} cents to each of three.`,
      };
    }),
    ...owners.map((owner, index) => ({
      prompt: `Pay ${owner}'s rent and power in two steps from savings: move the money first, then pay each bill.`,
      rounds: [
        [{ name: 'list_bills', input: { owner } }],
        [
          {
            name: 'transfer',
            input: {
              from: `${owner}-savings`,
              to: `${owner}-everyday`,
              cents: 2_000 + 17 * index + 2_000 + 1_313 * 2 + 17 * index,
              memo: 'bills',
            },
          },
        ],
        [{ name: 'pay_bill', input: { bill: `${owner}-rent`, account: `${owner}-everyday` } }],
        [{ name: 'pay_bill', input: { bill: `${owner}-power`, account: `${owner}-everyday` } }],
      ],
      answer: 'Rent and power are paid.',
    })),
  ]),
});
