/** Singly linked lists, and what one does with them. */
public class SLList {

    SLList next;
    int data;

    SLList(SLList next) {
        this.next = next;
    }

    /** A list with at least one element. */
    static SLList build(int more) {
        SLList list = new SLList(null);
        for (int i = 0; i < more; i++) {
            list = new SLList(list);
        }
        return list;
    }

    /** A list that may be empty. */
    static SLList buildRecursive(int length) {
        if (length <= 0) {
            return null;
        }
        SLList rest = buildRecursive(length - 1);
        return new SLList(rest);
    }

    /** A list, and another one put behind it element by element. */
    static SLList buildAndConcat(int more) {
        SLList first = build(more);
        SLList last = first;
        while (last.next != null) {
            last = last.next;
        }
        for (int i = 0; i < more; i++) {
            last.next = new SLList(null);
            last = last.next;
        }
        return first;
    }

    static void traverse(SLList head) {
        SLList current = head;
        while (current.next != null) {
            current = current.next;
        }
    }

    static SLList traverseRecursive(SLList head) {
        SLList current = head;
        if (current.next != null) {
            traverseRecursive(current.next);
        }
        return head;
    }

    /** The first element with this number, or null. */
    static SLList find(SLList head, int wanted) {
        SLList current = head;
        while (current != null) {
            if (current.data == wanted) {
                return current;
            }
            current = current.next;
        }
        return null;
    }

    /** One goes twice as fast as the other. */
    static SLList findMiddle(SLList head) {
        SLList slow = head;
        SLList fast = head.next;
        while (fast != null && fast.next != null) {
            fast = fast.next.next;
            slow = slow.next;
        }
        return slow;
    }

    /** The slow one starts first: for a moment it is ahead. */
    static SLList findMiddleFaulty(SLList head) {
        SLList slow = head;
        SLList fast = head;
        while (fast != null && fast.next != null) {
            slow = slow.next;
            fast = fast.next.next;
        }
        return slow;
    }

    /** The mistake is made in a procedure. */
    static SLList findMiddleFaultyCall(SLList head) {
        return findMiddleFaulty(head);
    }

    static SLList reverse(SLList head) {
        SLList reversed = null;
        SLList current = head;
        while (current != null) {
            SLList next = current.next;
            current.next = reversed;
            reversed = current;
            current = next;
        }
        return reversed;
    }

    static SLList reverseRecursive(SLList head) {
        if (head.next == null) {
            return head;
        }
        SLList second = head.next;
        SLList reversed = reverseRecursive(second);
        second.next = head;
        head.next = null;
        return reversed;
    }

    /** Between two steps, a procedure takes the list apart for a moment. */
    static void traverseModifyList(SLList head) {
        SLList current = head;
        while (current.next != null) {
            current = current.next;
            head = detachAndAttach(head);
        }
    }

    static SLList detachAndAttach(SLList head) {
        SLList rest = head.next;
        head.next = null;
        head.next = rest;
        return head;
    }

    /** A procedure makes an element that nobody needs. */
    static SLList traverseModifyHeap(SLList head) {
        leaveScratch(head);
        return head;
    }

    /** The same at every element. */
    static SLList traverseRecursiveModifyHeap(SLList head) {
        leaveScratch(head);
        if (head.next != null) {
            traverseRecursiveModifyHeap(head.next);
        }
        return head;
    }

    static void leaveScratch(SLList head) {
        new SLList(null);
    }

    /** Elements of two lists in turn, in one list. */
    static SLList zip(SLList first, SLList second) {
        if (first == null) {
            return second;
        }
        SLList rest = zip(second, first.next);
        first.next = rest;
        return first;
    }

    static SLList zipDummy(int more) {
        SLList first = build(more);
        SLList second = build(more);
        return zip(first, second);
    }
}
