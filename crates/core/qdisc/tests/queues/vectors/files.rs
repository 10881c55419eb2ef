//! Every file of vectors.

use serde_json::{Value, json};

use super::ops::{
    any_ops, asking, capable, control, drawn, full, head, lossless, on, put, ranked, serve, toss, urgent,
};

/// Every file: its name, its first line and its ops.
// Long: a table of cases.
pub fn files() -> Vec<(&'static str, Value, Vec<Value>)> {
    let tiny = json!({ "control_queue": "640 B" });
    let mut files = vec![
        (
            "trim-service",
            head(
                "trim",
                "ten control packets for each data packet while both wait; either alone otherwise",
                1,
                json!({}),
            ),
            [full(0..5), control(10..40), serve(35), vec![json!({ "op": "dequeue" })]].concat(),
        ),
        (
            "trim-coin",
            head("trim", "a full data queue: the coin spares the tail or trims it", 1, json!({})),
            [
                full(0..8),
                vec![
                    toss(8, 9064, "arriving"),
                    toss(9, 9064, "tail"),
                    toss(10, 9064, "tail"),
                    toss(11, 1564, "arriving"),
                ],
                serve(12),
            ]
            .concat(),
        ),
        (
            "trim-in-service",
            head(
                "trim",
                "the packet in service takes room and is no victim",
                1,
                json!({ "data_queue": "2 packets" }),
            ),
            [
                full(0..1),
                vec![json!({ "op": "dequeue" })],
                full(1..2),
                vec![toss(2, 9064, "tail"), json!({ "op": "complete" })],
                full(3..4),
                serve(3),
            ]
            .concat(),
        ),
        (
            "trim-return",
            head(
                "trim",
                "a full control queue: headers go back once, everything else is dropped",
                1,
                tiny.clone(),
            ),
            [
                full(0..8),
                control(10..20),
                vec![
                    toss(20, 9064, "arriving"),
                    toss(21, 9064, "tail"),
                    put(22, 64, "header"),
                    put(23, 64, "returned"),
                    put(24, 64, "control"),
                ],
                serve(4),
                vec![put(25, 64, "returned"), toss(26, 9064, "tail")],
            ]
            .concat(),
        ),
        (
            "trim-drop",
            head(
                "trim",
                "the same without return-to-sender",
                1,
                json!({ "control_queue": "640 B", "return_to_sender": false }),
            ),
            [
                full(0..8),
                control(10..20),
                vec![toss(20, 9064, "arriving"), toss(21, 9064, "tail"), put(22, 64, "header")],
            ]
            .concat(),
        ),
        (
            "trim-arriving",
            head(
                "trim",
                "no coin: the arriving packet is always the victim",
                1,
                json!({ "victim": "arriving" }),
            ),
            [full(0..10), serve(3)].concat(),
        ),
        (
            "trim-bytes",
            head(
                "trim",
                "room in bytes: a long packet does not take the room of a short tail",
                1,
                json!({ "data_queue": "10 kB" }),
            ),
            [
                full(0..1),
                vec![
                    put(1, 100, "data"),
                    toss(2, 9064, "tail"),
                    toss(3, 866, "tail"),
                    put(4, 70, "data"),
                    toss(5, 65, "arriving"),
                ],
                serve(6),
            ]
            .concat(),
        ),
        (
            "cut-payload",
            head(
                "cut-payload",
                "headers wait behind data in one queue and count towards the threshold in bytes",
                1,
                json!({ "threshold": "20 kB", "queue": "20192 B" }),
            ),
            [
                full(0..4),
                control(4..5),
                vec![put(5, 64, "header"), put(6, 64, "returned"), put(7, 1700, "data")],
                vec![json!({ "op": "dequeue" })],
                full(8..9),
                vec![json!({ "op": "complete" })],
                full(9..12),
                serve(5),
                full(12..14),
                serve(6),
            ]
            .concat(),
        ),
        (
            "cut-payload-data",
            head(
                "cut-payload",
                "only data counts towards the threshold; a packet that finds no room in the queue leaves its header",
                1,
                json!({ "threshold": "2 packets", "occupancy": "data", "queue": "6 packets" }),
            ),
            [
                control(100..103),
                full(0..4),
                control(103..106),
                serve(4),
                full(4..6),
                control(106..109),
                full(6..7),
                serve(6),
                control(110..115),
                full(7..9),
                serve(2),
            ]
            .concat(),
        ),
        (
            "drop-tail-packets",
            head(
                "drop-tail",
                "one queue for all; the packet in service takes room",
                1,
                json!({ "queue": "3 packets" }),
            ),
            [
                full(0..1),
                vec![json!({ "op": "dequeue" })],
                control(1..3),
                full(3..4),
                control(4..5),
                vec![json!({ "op": "complete" })],
                full(5..6),
                serve(3),
            ]
            .concat(),
        ),
        (
            "drop-tail-bytes",
            head("drop-tail", "room in bytes", 1, json!({ "queue": "10 kB" })),
            [full(0..2), control(2..20), serve(2), full(20..21)].concat(),
        ),
        (
            "drop-tail-mark",
            head(
                "drop-tail",
                "ECN: packets that can be marked are, while more than two are held on arrival",
                1,
                json!({ "mark_above": "2 packets" }),
            ),
            [capable(0..5), full(5..7), capable(7..8), serve(6), capable(8..12), serve(6)].concat(),
        ),
        (
            "drop-tail-mark-leaving",
            head(
                "drop-tail",
                "ECN: packets that can be marked are, where more than 20 kB stay behind them",
                1,
                json!({ "mark_above": "20 kB", "mark_at": "dequeue" }),
            ),
            [capable(0..4), full(4..6), serve(2), capable(6..9), serve(7)].concat(),
        ),
        (
            "pfabric-service",
            head(
                "pfabric",
                "the flow of the packet with the smallest rank is served, its earliest packet first",
                1,
                json!({ "queue": "100 kB" }),
            ),
            [
                ranked(full(0..6), &[(1, 9), (2, 5), (1, 8), (2, 4), (1, 3), (3, 4)]),
                serve(2),
                control(6..8),
                serve(6),
                vec![json!({ "op": "dequeue" })],
            ]
            .concat(),
        ),
        (
            "pfabric-evict",
            head(
                "pfabric",
                "without room the packets with the largest rank go, the newest of several; not the one in service",
                1,
                json!({ "queue": "30 kB" }),
            ),
            [
                ranked(full(0..1), &[(1, 99)]),
                vec![json!({ "op": "dequeue" })],
                ranked(full(1..3), &[(2, 7), (3, 7)]),
                ranked(full(3..6), &[(4, 5), (5, 7), (6, 1)]),
                ranked(vec![put(6, 100, "data"), put(7, 100, "data")], &[(7, 60)]),
                vec![json!({ "op": "complete" })],
                ranked(full(8..10), &[(8, 2)]),
                serve(3),
            ]
            .concat(),
        ),
        (
            "scdp-service",
            head(
                "scdp",
                "the most urgent symbols first, ten control packets for each of them; priorities 3 to 0 share a queue",
                1,
                json!({}),
            ),
            [
                urgent(full(0..8), &[3, 7, 5, 0, 7, 6, 4, 2]),
                control(10..35),
                serve(30),
                urgent(full(40..42), &[0, 7]),
                serve(5),
                vec![json!({ "op": "dequeue" })],
            ]
            .concat(),
        ),
        (
            "scdp-trim",
            head(
                "scdp",
                "queues share the room for symbols; one that finds none is trimmed, however urgent it is",
                1,
                json!({ "data_queue": "3 packets", "control_queue": "3 packets" }),
            ),
            [
                urgent(full(0..3), &[3, 5, 3]),
                urgent(full(3..5), &[7, 3]),
                control(5..8),
                serve(2),
                urgent(full(8..12), &[7]),
                serve(6),
            ]
            .concat(),
        ),
        (
            "priority-service",
            head("priority", "the most urgent class first, in order of arrival within a class", 1, json!({})),
            [
                urgent(full(0..6), &[0, 3, 7, 3, 0, 7]),
                serve(3),
                urgent(control(6..8), &[1, 7]),
                serve(5),
                vec![json!({ "op": "dequeue" })],
            ]
            .concat(),
        ),
        (
            "priority-port",
            head(
                "priority",
                "classes share the room of the port: a full port drops urgent packets too",
                1,
                json!({ "queue": "40 kB", "mark_above": "2 packets" }),
            ),
            [
                urgent(capable(0..6), &[0]),
                urgent(capable(6..7), &[7]),
                serve(1),
                urgent(full(7..8), &[7]),
                urgent(capable(8..9), &[5]),
                serve(4),
            ]
            .concat(),
        ),
        (
            "priority-class",
            head(
                "priority",
                "each class has room and a threshold of its own; the packet in service counts in its class",
                1,
                json!({ "queue": "3 packets", "sharing": "class", "mark_above": "1 packets", "mark_at": "dequeue" }),
            ),
            [
                urgent(capable(0..5), &[2]),
                urgent(capable(5..9), &[6]),
                vec![json!({ "op": "dequeue" })],
                urgent(full(9..10), &[6]),
                vec![json!({ "op": "complete" })],
                urgent(full(10..11), &[6]),
                serve(6),
            ]
            .concat(),
        ),
        (
            "trim-mark",
            head("trim", "ECN: data is marked by the data held", 1, json!({ "mark_above": "3 packets" })),
            [
                control(100..104),
                capable(0..8),
                vec![toss(8, 9064, "tail")],
                serve(8),
                capable(9..13),
                serve(9),
            ]
            .concat(),
        ),
        (
            "red",
            head(
                "red",
                "random early detection: marks or early drops between low and high, spread evenly",
                1,
                json!({ "weight": 0.5, "probability": 0.4, "low": "3 packets", "high": "12 packets", "queue": "16 packets" }),
            ),
            drawn(
                [
                    capable(0..10),
                    full(10..14),
                    capable(14..24),
                    serve(9),
                    full(24..30),
                    serve(5),
                    capable(30..34),
                ]
                .concat(),
                31,
            ),
        ),
        (
            "shared-buffer",
            head(
                "shared-buffer",
                "a port may hold alpha times what is free; ports share one pool",
                2,
                json!({ "pool": "100 kB", "alpha": 1.0 }),
            ),
            [
                on(0, full(0..8)),
                on(1, full(8..13)),
                on(0, serve(3)),
                on(1, full(13..15)),
                on(0, full(15..17)),
            ]
            .concat(),
        ),
    ];
    let random = [
        (
            "trim-random",
            head(
                "trim",
                "any packets in any order, room in packets",
                1,
                json!({ "data_queue": "4 packets", "control_queue": "6 packets" }),
            ),
            21,
        ),
        (
            "trim-random-bytes",
            head(
                "trim",
                "any packets in any order, room in bytes",
                1,
                json!({ "data_queue": "7 kB", "control_queue": "320 B" }),
            ),
            22,
        ),
        (
            "cut-payload-random",
            head(
                "cut-payload",
                "any packets in any order",
                1,
                json!({ "threshold": "7 kB", "queue": "7500 B" }),
            ),
            25,
        ),
        (
            "drop-tail-random",
            head("drop-tail", "any packets in any order", 1, json!({ "queue": "8 kB" })),
            23,
        ),
        (
            "pfabric-random",
            head("pfabric", "any packets of any flow and rank in any order", 1, json!({ "queue": "8 kB" })),
            27,
        ),
        (
            "scdp-random",
            head(
                "scdp",
                "any packets of any priority in any order",
                1,
                json!({ "data_queue": "5 packets", "control_queue": "640 B" }),
            ),
            28,
        ),
        (
            "priority-random",
            head("priority", "any packets of any priority in any order", 1, json!({ "queue": "16 kB" })),
            25,
        ),
        (
            "priority-random-class",
            head(
                "priority",
                "the same with room for each class",
                1,
                json!({ "queue": "2 packets", "sharing": "class" }),
            ),
            26,
        ),
        (
            "shared-buffer-random",
            head(
                "shared-buffer",
                "any packets in any order at three ports",
                3,
                json!({ "pool": "20 kB", "alpha": 0.5 }),
            ),
            24,
        ),
    ];
    files.extend(lossless());
    files.extend(asking());
    for (name, head, seed) in random {
        let ops = any_ops(&head, 250, seed);
        files.push((name, head, ops));
    }
    files
}
