/**
 * Skip lists with two levels. All elements are in a list by `next`. Some are high: these are in a
 * list by `skip` besides. The first and the last element are high.
 */
public class SkipList {

    SkipList next;
    SkipList skip;
    int key;

    SkipList(SkipList next, SkipList skip) {
        this.next = next;
        this.skip = skip;
    }

    /** Goes along the high elements first. */
    static SkipList find(SkipList head, int wanted) {
        SkipList current = head;
        while (current.skip != null && current.skip.key < wanted) {
            current = current.skip;
        }
        while (current != null && current.key < wanted) {
            current = current.next;
        }
        return current;
    }

    /** Puts a low or a high element behind the first. */
    static void insert(SkipList head, int key, boolean high) {
        SkipList before = head;
        while (before.skip.skip != null && before.skip.key < key) {
            before = before.skip;
        }
        SkipList low = before;
        while (low.next != before.skip && low.next.key < key) {
            low = low.next;
        }
        if (high) {
            SkipList added = new SkipList(low.next, before.skip);
            low.next = added;
            before.skip = added;
        } else {
            low.next = new SkipList(low.next, null);
        }
    }
}
