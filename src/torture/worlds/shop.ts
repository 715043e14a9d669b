import { numbered, recordOf, smallWorld } from '../small-world.ts';
import { Refused } from '../world.ts';

type Shop = {
  stock: Record<string, { cents: number; count: number }>;
  carts: Record<string, Record<string, number>>;
  orders: Record<string, { customer: string; items: Record<string, number>; status: 'placed' | 'sent' | 'refunded' }>;
  refunds: { order: string; cents: number }[];
};

const customers = ['eve', 'finn', 'gus', 'hana'];
const goods = ['lamp', 'chair', 'kettle', 'rug', 'vase'];

function begin(): Shop {
  return {
    stock: Object.fromEntries(goods.map((name, index) => [name, { cents: 1_990 + 510 * index, count: 40 }])),
    carts: {},
    orders: Object.fromEntries(
      customers.map((customer, index) => [
        `old-${customer}`,
        { customer, items: { [goods[index] ?? 'lamp']: 2 }, status: 'sent' as const },
      ]),
    ),
    refunds: [],
  };
}

const good = (index: number) => goods[index % goods.length] ?? 'lamp';

export const shop = smallWorld<Shop>({
  name: 'shop',
  instructions: 'You work in the office of a shop. Carry out what is asked, once, and say what you did.',
  begin,
  tools: {
    look_up: {
      description: 'Returns the price and the stock of an item.',
      input: { item: 'string' },
      run: (db, { item }) => ({ ...recordOf('item', db.stock, item) }),
    },
    get_order: {
      description: 'Returns an order.',
      input: { order: 'string' },
      run: (db, { order }) => structuredClone(recordOf('order', db.orders, order)),
    },
    add_to_cart: {
      description: 'Adds so many of an item to the cart of a customer, to those that are in it.',
      input: { customer: 'string', item: 'string', count: 'integer' },
      run: (db, { customer, item, count }) => {
        recordOf('item', db.stock, item);
        db.carts[String(customer)] ??= {};
        const cart = recordOf('cart', db.carts, customer);
        cart[String(item)] = (cart[String(item)] ?? 0) + Number(count);
        return { cart: { ...cart } };
      },
    },
    place_order: {
      description: 'Orders what is in the cart of a customer, and empties it.',
      input: { customer: 'string' },
      run: (db, { customer }) => {
        const items = recordOf('cart', db.carts, customer);
        if (Object.keys(items).length === 0) throw new Refused('the cart is empty');
        for (const [item, count] of Object.entries(items)) recordOf('item', db.stock, item).count -= count;
        const order = `order-${Object.keys(db.orders).length + 1}`;
        db.orders[order] = { customer: String(customer), items: { ...items }, status: 'placed' };
        db.carts[String(customer)] = {};
        return { order };
      },
    },
    refund: {
      description: 'Refunds an amount of an order.',
      input: { order: 'string', cents: 'integer' },
      run: (db, { order, cents }) => {
        recordOf('order', db.orders, order).status = 'refunded';
        db.refunds.push({ order: String(order), cents: Number(cents) });
        return { refunds: db.refunds.length };
      },
    },
    restock: {
      description: 'Adds so many of an item to the stock.',
      input: { item: 'string', count: 'integer' },
      run: (db, { item, count }) => {
        const found = recordOf('item', db.stock, item);
        found.count += Number(count);
        return { count: found.count };
      },
    },
  },
  tasks: numbered('shop', [
    ...customers.map((customer, index) => ({
      prompt: `Order ${index + 2} of the ${good(index)} for ${customer}.`,
      rounds: [
        [{ name: 'look_up', input: { item: good(index) } }],
        [{ name: 'add_to_cart', input: { customer, item: good(index), count: index + 2 } }],
        [{ name: 'place_order', input: { customer } }],
      ],
      answer: 'Ordered as order-5.',
    })),
    ...customers.map((customer, index) => ({
      prompt: `${customer} wants one each of ${good(index)}, ${good(index + 1)} and ${good(index + 2)}, in one order.`,
      rounds: [
        [0, 1, 2].map((step) => ({ name: 'add_to_cart', input: { customer, item: good(index + step), count: 1 } })),
        [{ name: 'place_order', input: { customer } }],
        [{ name: 'get_order', input: { order: 'order-5' } }],
      ],
      answer: 'Three items are ordered as order-5.',
    })),
    ...customers.map((customer, index) => ({
      prompt: `Refund one of the two ${good(index)}s of old-${customer}, and put it back into stock.`,
      rounds: [
        [
          { name: 'get_order', input: { order: `old-${customer}` } },
          { name: 'look_up', input: { item: good(index) } },
        ],
        [{ name: 'refund', input: { order: `old-${customer}`, cents: 1_990 + 510 * index } }],
        [{ name: 'restock', input: { item: good(index), count: 1 } }],
      ],
      answer: `Refunded ${1_990 + 510 * index} cents.`,
    })),
    ...customers.map((customer, index) => ({
      prompt: `${customer} returns all of old-${customer} and takes a ${good(index + 3)} instead: refund, restock, order.`,
      rounds: [
        [{ name: 'get_order', input: { order: `old-${customer}` } }],
        [
          { name: 'refund', input: { order: `old-${customer}`, cents: 2 * (1_990 + 510 * index) } },
          { name: 'restock', input: { item: good(index), count: 2 } },
        ],
        [{ name: 'add_to_cart', input: { customer, item: good(index + 3), count: 1 } }],
        [{ name: 'place_order', input: { customer } }],
      ],
      answer: 'Exchanged; the new order is order-5.',
    })),
    ...customers.map((_, index) => ({
      prompt: `A delivery of 10 each of ${good(index)}, ${good(index + 1)} and ${good(index + 2)} has come. Book it.`,
      rounds: [
        [0, 1, 2].map((step) => ({ name: 'restock', input: { item: good(index + step), count: 10 } })),
        [{ name: 'look_up', input: { item: good(index) } }],
      ],
      answer: 'Thirty items are booked.',
    })),
  ]),
});
