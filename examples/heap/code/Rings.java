/** A list in which each element has a cyclic list of its own. */
public class Rings {

    Rings next;
    Ring ring;

    Rings(Rings next, Ring ring) {
        this.next = next;
        this.ring = ring;
    }

    /** Goes round each cyclic list once. */
    static void traverse(Rings head) {
        Rings current = head;
        while (current != null) {
            Ring start = current.ring;
            Ring member = start.next;
            while (member != start) {
                member = member.next;
            }
            current = current.next;
        }
    }

    static Rings build(int count) {
        Rings list = null;
        for (int i = 0; i < count; i++) {
            list = new Rings(list, Ring.build(i));
        }
        return list;
    }
}

/** An element of a cyclic list. */
class Ring {

    Ring next;

    static Ring build(int more) {
        Ring first = new Ring();
        first.next = first;
        for (int i = 0; i < more; i++) {
            Ring added = new Ring();
            added.next = first.next;
            first.next = added;
        }
        return first;
    }
}
